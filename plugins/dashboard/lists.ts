/** Routes for lists, and for the values that list filters offer. */

import type { Sql } from 'postgres'
import Type, { type Static } from 'typebox'
import type { App } from '../../lib/app.ts'
import type { TableNames } from '../../lib/database/tables.ts'
import { checkQueryTexts, found, refuseField } from '../../lib/http/refuse.ts'
import { JsonText } from '../../lib/http/route.ts'
import { TraceSearchQuery } from '../../lib/schema/history/search.ts'
import { closed } from '../../lib/schema/object.ts'
import { ScoreList } from '../../lib/schema/output.ts'
import { ScoreListQuery } from '../../lib/schema/query.ts'
import { isUnconditional } from '../../lib/store/finding/conditions.ts'
import type { FoundPage } from '../../lib/store/finding/find-traces.ts'
import { findTracesById, readFoundSummaries } from '../../lib/store/finding/found-summaries.ts'
import { readRowDetails } from '../../lib/store/finding/row-details.ts'
import { readRowMetadata } from '../../lib/store/finding/row-metadata.ts'
import { readFacets, readScoreNames } from '../../lib/store/lists/facets.ts'
import { findSeenTrace } from '../../lib/store/people/users.ts'
import { startOf } from '../../lib/trace/failures/step-failure.ts'
import { answerScoreList } from '../scores.ts'
import { answerSearch, readSearch, runSearch, searchCursor } from '../search.ts'
import { metadataLeaves } from './app/content/metadata-leaves.ts'
import { IN_PROJECT, readRoute } from './page-routes.ts'
import { FacetsReply, ScoreNamesReply, SlugReply, TracePageReply } from './replies.ts'

/** Maximum number of trace ids in a request. */
const MOST_IDS = 50
/** Maximum number of metadata values per trace, and of characters per value. */
const MOST_METADATA = 8
const MOST_VALUE = 200
const ID = /^[0-9a-f]{32}$/i

const cursor = Type.Optional(Type.String({ minLength: 1 }))
/** The parameters of the API's search; `before` requests the page before a cursor. */
export const MatchQuery = closed({ ...TraceSearchQuery.properties, before: cursor })
const PageQuery = closed({
  ...MatchQuery.properties,
  ids: Type.Optional(Type.String({ minLength: 1 })),
  /** Name of a metadata value that the response shows, such as `customer.plan`. */
  metadata: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: MOST_METADATA }))
})
type PageQuery = Static<typeof PageQuery>

export default function lists(app: App): void {
  const { sql } = app

  readRoute(app, `${IN_PROJECT}/traces`, {
    query: PageQuery,
    replies: { 200: TracePageReply },
    async handler(request) {
      const { id } = request.project
      const { ids, metadata = [], ...query } = request.query
      checkQueryTexts({ metadata: metadata.join(' ') })
      if (ids !== undefined) {
        const wanted = readIds(ids, query)
        return sql.readOf(
          id,
          async (each, names) => {
            const found = await findTracesById(each, id, wanted, names)
            const traces = await readFoundSummaries(each, id, found, names)
            const details = await readRowDetails(each, id, seqsOf({ found }), names)
            return {
              body: new JsonText(`{"traces":${traces},${JSON.stringify({ ...ALONE, details, metadata: {} }).slice(1)}`)
            }
          },
          request
        )
      }
      const asked = readSearch(query)
      const work = (each: Sql, names: TableNames) =>
        answerSearch(each, id, asked, names, async page => ({
          prevCursor: searchCursor(asked.query.sort, page.previous),
          details: await readRowDetails(each, id, seqsOf(page), names),
          metadata:
            metadata.length === 0 ? {} : chosenOf(await readRowMetadata(each, id, seqsOf(page), names), metadata)
        }))
      // Pages without further conditions are found quickly, so they do not wait behind slow reads.
      const isQuick = asked.wanted === undefined && isUnconditional(asked.conditions)
      return isQuick ? sql.readOf(id, work, request) : runSearch(app, id, asked, request, work)
    }
  })

  readRoute(app, `${IN_PROJECT}/scores`, {
    query: ScoreListQuery,
    replies: { 200: ScoreList },
    handler: request => answerScoreList(app, request.project.id, request.query, request)
  })

  readRoute(app, `${IN_PROJECT}/facets`, {
    replies: { 200: FacetsReply },
    async handler(request) {
      const { id } = request.project
      return { body: await sql.readOf(id, (each, names) => readFacets(each, id, names), request) }
    }
  })

  readRoute(app, `${IN_PROJECT}/score-names`, {
    replies: { 200: ScoreNamesReply },
    async handler(request) {
      const { id } = request.project
      return { body: await sql.readOf(id, (each, names) => readScoreNames(each, id, names), request) }
    }
  })

  // Lets logs and alerts link to a trace by its id alone, without naming a project.
  readRoute(app, '/app/api/traces/:traceId', {
    replies: { 200: SlugReply },
    async handler(request) {
      const { visitor, traceId } = request
      const slug = await sql.read(each => findSeenTrace(each, visitor.userId, traceId), request)
      return { body: { slug: found(slug, 'trace in any of your projects') } }
    }
  })
}

/** Returns the named metadata values of each trace that has any. */
function chosenOf(
  rows: Awaited<ReturnType<typeof readRowMetadata>>,
  names: readonly string[]
): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const chosen = [...rows].flatMap(([id, metadata]) => {
    const own = metadataLeaves(metadata).filter(({ name }) => names.includes(name))
    return own.length === 0
      ? []
      : [[id, Object.fromEntries(own.map(({ name, value }) => [name, startOf(value, MOST_VALUE)]))]]
  })
  return Object.fromEntries(chosen)
}

const seqsOf = ({ found }: Pick<FoundPage, 'found'>): number[] => found.map(({ seq }) => seq)

/** The members that describe a page in a response that lists traces. */
const ALONE = {
  nextCursor: null,
  prevCursor: null,
  pageSize: MOST_IDS,
  examined: 0,
  reached: null,
  hint: null,
  index: null
}

/** Reads the `ids` parameter, which cannot be combined with other parameters. Throws `invalid_request`. */
function readIds(text: string, others: Omit<PageQuery, 'ids'>): string[] {
  const [other] = Object.keys(others)
  if (other !== undefined) refuseField(other, 'cannot be combined with `ids`')
  const ids = text.split(',')
  if (ids.length > MOST_IDS) refuseField('ids', `must be at most ${MOST_IDS}`)
  if (!ids.every(id => ID.test(id))) refuseField('ids', 'must be ids of 32 hexadecimal characters, separated by commas')
  return ids.map(id => id.toLowerCase())
}
