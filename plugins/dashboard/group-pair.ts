/** Route that compares two groups of traces, such as those of two models or of two versions of a prompt. */
import Type from 'typebox'
import type { App } from '../../lib/app.ts'
import { checkQueryTexts, refuseField } from '../../lib/http/refuse.ts'
import { JsonText } from '../../lib/http/route.ts'
import { WEIGHTS } from '../../lib/limits/large-reads.ts'
import { startsOf } from '../../lib/rollups/period.ts'
import { closed } from '../../lib/schema/object.ts'
import { Environment } from '../../lib/schema/query.ts'
import type { PeriodFilters } from '../../lib/store/analytics/usage/exact-periods.ts'
import { readGroupPair } from '../../lib/store/analytics/usage/group-pair.ts'
import { readTimeQuery, TIME } from './asked-time.ts'
import { IN_PROJECT, readRoute } from './page-routes.ts'
import { GroupPairReply } from './replies.ts'

const group = Type.String({ minLength: 1 })
const filter = Type.Optional(Type.String({ minLength: 1 }))
const PairQuery = closed({ ...TIME, a: group, b: group, env: Type.Optional(Environment), name: filter, model: filter })

export default function groupPair(app: App): void {
  readRoute(app, `${IN_PROJECT}/group-pair`, {
    query: PairQuery,
    replies: { 200: GroupPairReply },
    async handler(request) {
      const { project, query } = request
      const { a, b, name, model } = query
      checkQueryTexts({ a, b, ...(name && { name }), ...(model && { model }) })
      const { period } = readTimeQuery(query, '7d')
      const both = { environment: query.env?.toLowerCase(), name, model }
      const asked = { period, a: { ...both, ...filtersOf('a', a) }, b: { ...both, ...filtersOf('b', b) } }
      const work = () => app.sql.read(sql => readGroupPair(sql, project.id, asked), request)
      const found = await app.largeReads.run(project.id, work, { weight: WEIGHTS.analysis, client: request })
      const { from, to, step, offset } = period
      const shown = { from: isoOf(from), to: isoOf(to), step, offset, starts: startsOf(period).map(isoOf) }
      const side = ({ examples, ...sums }: typeof found.a) =>
        `${JSON.stringify(sums).slice(0, -1)},"examples":${examples}}`
      const rest = JSON.stringify({ ...shown, since: found.since, scores: found.scores }).slice(0, -1)
      return { body: new JsonText(`${rest},"a":${side(found.a)},"b":${side(found.b)}}`) }
    }
  })
}

const isoOf = (ms: number): string => new Date(ms).toISOString()

/** Reads a group such as `model:gpt-5` or `tag:prompt:v12`. Throws `invalid_request`. */
function filtersOf(parameter: 'a' | 'b', text: string): PeriodFilters {
  const [, field, value] = /^(model|name|environment|user|tag):(.+)$/s.exec(text) ?? []
  switch (field) {
    case 'model':
    case 'name':
    case 'tag':
      return { [field]: value }
    case 'environment':
      return { environment: value?.toLowerCase() }
    case 'user':
      return { user_id: value }
    default:
      return refuseField(
        parameter,
        'must be model, name, environment, user or tag, followed by a colon and a value, such as user:ada'
      )
  }
}
