/** Routes about all traces that match a list's filters: their number, their values, their table and their deletion. */
import Type, { type Static } from 'typebox'
import type { App } from '../../lib/app.ts'
import { type Cell, type CellType, csvCell } from '../../lib/csv.ts'
import type { Client } from '../../lib/database/pooled/cancellation.ts'
import { checkQueryTexts } from '../../lib/http/refuse.ts'
import { JsonText, type RequestOf } from '../../lib/http/route.ts'
import { WEIGHTS } from '../../lib/limits/large-reads.ts'
import { TracesDeleted } from '../../lib/schema/history/deletion.ts'
import { type FoundTrace, MOST_SEARCHED } from '../../lib/schema/history/search.ts'
import { closed } from '../../lib/schema/object.ts'
import { list } from '../../lib/store/answers/json-text.ts'
import { CANDIDATE_BOUNDS } from '../../lib/store/finding/candidates.ts'
import { isUnconditional } from '../../lib/store/finding/conditions.ts'
import type { FindBounds } from '../../lib/store/finding/find-traces.ts'
import { readFoundSummaries, readSummariesOf } from '../../lib/store/finding/found-summaries.ts'
import { NEWEST_METADATA, readNewestMetadata } from '../../lib/store/finding/row-metadata.ts'
import { countOfTime, isOfTimeOnly, MOST_ALONG_INDEX } from '../../lib/store/lists/count-traces.ts'
import { readSuggestions, SUGGESTED } from '../../lib/store/lists/suggestions.ts'
import { listTraces } from '../../lib/store/lists/trace-list.ts'
import { countLeft } from '../../lib/store/trace/bulk-deletion.ts'
import { deleterOf, detailOf, readDeletion } from '../deletions.ts'
import { readTime } from '../paging.ts'
import { findPageOf, readSearch, runSearch, searchCursor } from '../search.ts'
import { entryOf } from './acting.ts'
import { metadataLeaves } from './app/content/metadata-leaves.ts'
import { MatchQuery } from './lists.ts'
import { IN_PROJECT, pageRoute, readRoute } from './page-routes.ts'
import { MatchCountReply, MatchTableReply, SuggestionsReply, TraceSummariesReply } from './replies.ts'

/** Maximum number of matches that are counted one by one, and the limits of the search for them. */
const MOST_FOUND = 5000
const COUNT_BOUNDS: FindBounds = { ...CANDIDATE_BOUNDS, walk: { traces: 20_000, ms: 1000 } }

/** Maximum number of suggested metadata names. */
const MOST_NAMES = 30

const { from, to } = MatchQuery.properties
const SuggestionQuery = closed({
  field: Type.Enum([...SUGGESTED, 'metadata']),
  typed: Type.Optional(Type.String({ minLength: 1, maxLength: MOST_SEARCHED })),
  from,
  to
})

export default function matches(app: App): void {
  const remove = deleterOf(app)

  readRoute(app, `${IN_PROJECT}/trace-count`, {
    query: MatchQuery,
    replies: { 200: MatchCountReply },
    async handler(request) {
      const { after: _, before: __, ...query } = request.query
      const { id } = request.project
      const asked = readSearch({ ...query, limit: MOST_FOUND })
      if (asked.wanted === undefined && isUnconditional(asked.conditions) && isOfTimeOnly(asked.query)) {
        const count = await app.sql.readOf(id, (each, names) => countOfTime(each, id, asked.query, names), request)
        return { body: { traces: Math.min(count, MOST_ALONG_INDEX), isMore: count > MOST_ALONG_INDEX } }
      }
      const page = await runSearch(app, id, asked, request, (each, names) =>
        findPageOf(each, id, asked, names, COUNT_BOUNDS)
      )
      return { body: { traces: page.found.length, isMore: page.next !== undefined } }
    }
  })

  // A live list requests only summaries every two seconds, and the page only if a summary has changed.
  readRoute(app, `${IN_PROJECT}/trace-summaries`, {
    query: MatchQuery,
    replies: { 200: TraceSummariesReply },
    async handler(request) {
      const { id } = request.project
      const asked = readSearch(request.query)
      const { query, wanted, conditions } = asked
      if (wanted === undefined && isUnconditional(conditions) && query.sort === 'newest') {
        const page = await app.sql.readOf(id, (each, names) => listTraces(each, id, query, names), request)
        return { body: new JsonText(`{"traces":${page.traces}}`) }
      }
      const traces = await runSearch(app, id, asked, request, async (each, names) => {
        const { found } = await findPageOf(each, id, asked, names)
        return readSummariesOf(each, id, found, names)
      })
      return { body: new JsonText(`{"traces":${list(traces.map(summary => summary.render()))}}`) }
    }
  })

  readRoute(app, `${IN_PROJECT}/trace-table`, {
    query: MatchQuery,
    replies: { 200: MatchTableReply },
    async handler(request) {
      const { id } = request.project
      const { found, next, sort, step } = await readMatches(app, request, request.query)
      const traces = await app.sql.readOf(
        id,
        (each, names) => readFoundSummaries(each, id, found, names, step),
        request
      )
      const rows: FoundRow[] = JSON.parse(traces)
      const lines = rows.map(row => ({
        cells: COLUMNS.map(({ type, of }) => csvCell(of(row), type)).join(','),
        scores: Object.fromEntries(Object.entries(row.scores).map(([name, { value }]) => [name, value]))
      }))
      const head = COLUMNS.map(({ name }) => name).join(',')
      return { body: { head, rows: lines, nextCursor: searchCursor(sort, next) } }
    }
  })

  readRoute(app, `${IN_PROJECT}/suggestions`, {
    query: SuggestionQuery,
    replies: { 200: SuggestionsReply },
    async handler(request) {
      const { id } = request.project
      checkQueryTexts(request.query)
      const { field, typed, from, to } = request.query
      if (field === 'metadata') return { body: await readMetadataNames(app, id, request) }
      const query = { field, typed, from: readTime('from', from), to: readTime('to', to) }
      const read = () => app.sql.readOf(id, (each, names) => readSuggestions(each, id, query, names), request)
      return { body: await app.largeReads.run(id, read, { weight: WEIGHTS.analysis, client: request }) }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: `${IN_PROJECT}/deletions`,
    access: 'owner',
    smallBody: true,
    replies: { 200: TracesDeleted },
    async handler(request) {
      const { id } = request.project
      const { target, dryRun } = readDeletion(request.payload)
      if (dryRun) {
        const remaining = await app.sql.read(sql => countLeft(sql, id, target), request)
        return { body: { ok: true, deleted: 0, remaining } }
      }
      const auditOf = (traceIds: readonly string[]) => entryOf(request, 'trace.delete', detailOf(target, traceIds))
      return { body: await remove(id, target, auditOf, request) }
    }
  })
}

/** Returns the metadata names of the newest traces, most frequent first. */
async function readMetadataNames(app: App, id: number, client: Client) {
  const read = () => app.sql.readOf(id, (each, names) => readNewestMetadata(each, id, names), client)
  const found = await app.largeReads.run(id, read, { weight: WEIGHTS.analysis, client })
  const counts = new Map<string, number>()
  for (const metadata of found)
    for (const { name } of metadataLeaves(metadata)) counts.set(name, (counts.get(name) ?? 0) + 1)
  const values = [...counts].map(([value, traces]) => ({ value, traces })).sort((a, b) => b.traces - a.traces)
  return { values: values.slice(0, MOST_NAMES), newest: NEWEST_METADATA }
}

/** Finds a page of matching traces, without their summaries. */
async function readMatches(app: App, request: InProject, query: Static<typeof MatchQuery>) {
  const { id } = request.project
  const asked = readSearch(query)
  const page = await runSearch(app, id, asked, request, (sql, names) => findPageOf(sql, id, asked, names))
  return { ...page, sort: asked.query.sort, step: asked.conditions.step }
}

type InProject = Pick<RequestOf<unknown>, 'project' | 'signal' | 'party'>

type FoundRow = Static<typeof FoundTrace>
type TableColumn = { readonly name: string; readonly type: CellType; readonly of: (row: FoundRow) => Cell }

const own = <N extends keyof FoundRow>(
  type: CellType,
  ...names: readonly (N & (FoundRow[N] extends Cell ? string : never))[]
): TableColumn[] => names.map(name => ({ name, type, of: row => row[name] as Cell }))

/**
 * The columns of a table of matches: the summary of each trace, its first error, and the beginnings of its texts. The
 * page adds a column for each name of a score (plugins/dashboard/app/list/score-columns.ts).
 */
const COLUMNS: readonly TableColumn[] = [
  ...own('text', 'id', 'name', 'status', 'environment'),
  ...own('time', 'startedAt', 'endedAt'),
  ...own('integer', 'durationMs'),
  ...own('text', 'provider', 'model', 'sessionId', 'userId'),
  { name: 'tags', type: 'text', of: ({ tags }) => tags.join(' ') || null },
  { name: 'inputTokens', type: 'integer', of: ({ usage }) => usage.inputTokens },
  { name: 'outputTokens', type: 'integer', of: ({ usage }) => usage.outputTokens },
  { name: 'totalTokens', type: 'integer', of: ({ usage }) => usage.totalTokens },
  ...own('number', 'costUsd'),
  ...own('integer', 'spanCount', 'errorCount'),
  { name: 'failedStep', type: 'text', of: ({ firstError }) => firstError?.step ?? null },
  { name: 'errorType', type: 'text', of: ({ firstError }) => firstError?.type ?? null },
  { name: 'errorMessage', type: 'text', of: ({ firstError }) => firstError?.message ?? null },
  ...own('text', 'inputPreview', 'outputPreview')
]
