/**
 * Serves the requests of a trace's page. The page first requests the outline, which has sizes instead of texts (input,
 * output, attributes and events), then the selected span and, to search in the trace, all texts. Each response is JSON
 * with the same values as the trace detail.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { list, plain, raw, text } from './json-text.ts'
import { renderScore, renderScoreMap } from './score-json.ts'
import {
  type PartTexts,
  renderSpan,
  renderSpanHead,
  renderSpanUsage,
  type SpanRow,
  summaryMembers
} from './trace-json.ts'
import { readOwnTexts, readShownSpan, readSizedTrace, type ShownTrace, type SizedSpan } from './traces.ts'

/** Response if the page already has the current version. */
const UNCHANGED = '{"unchanged":true}'

interface OutlineRequest {
  readonly known?: string | undefined
  readonly after?: string | undefined
  readonly limit?: number | undefined
  readonly userId: number
}

/**
 * Returns a page of a trace's outline; undefined if the project has no such trace. `known` is the version that the
 * client has. `nextAfter` in the response requests the next page as `after`; null on the last page. Marks the scores
 * that the user `userId` gave.
 */
export async function readOutline(
  sql: Sql,
  projectId: number,
  traceId: string,
  { known, userId, ...page }: OutlineRequest
): Promise<string | undefined> {
  // The version is read first. If the trace changes before the outline is read, the page receives the older version,
  // and therefore requests the outline again.
  const version = await readVersion(sql, projectId, traceId)
  if (version === undefined || version === known) return version && UNCHANGED
  const shown = await readSizedTrace(sql, projectId, traceId, SCHEMA_NAMES, page)
  if (shown === undefined) return undefined
  const authors = await readAuthors(sql, shown)
  const { trace, spans, scores, hasMore } = shown
  const last = hasMore ? spans.at(-1) : undefined
  const scoreTexts = scores.map(score => {
    const author = score.authorId === null ? null : (authors.get(score.authorId) ?? null)
    const whose = `"author":${text(author)},"own":${score.authorId === userId}`
    return `${renderScore(score, traceId).slice(0, -1)},${whose}}`
  })
  return (
    `{"version":"${version}","trace":{${summaryMembers(trace, renderScoreMap(scores))}` +
    `,"metadata":${raw(trace.metadata, '{}')},"metadataUpdatedAt":${plain(trace.metadataUpdatedAt)}` +
    `,"bodyHash":"${trace.bodyHash}","inputBytes":${trace.inputBytes},"outputBytes":${trace.outputBytes}}` +
    `,"spans":${list(spans.map(span => outlineOf(span, traceId)))},"scores":${list(scoreTexts)}` +
    `,"nextAfter":${text(last?.id ?? null)}}`
  )
}

/** Returns one span in the format of the trace detail; undefined if the trace or span does not exist. */
export async function readSpan(
  sql: Sql,
  projectId: number,
  traceId: string,
  spanId: string,
  names: TableNames = SCHEMA_NAMES
): Promise<string | undefined> {
  const span = await readShownSpan(sql, projectId, traceId, spanId, names)
  return span && renderSpan(span, traceId)
}

/** Returns the trace's own input, output and metadata; undefined if the trace does not exist. */
export async function readTraceBody(sql: Sql, projectId: number, traceId: string, names: TableNames = SCHEMA_NAMES) {
  const trace = await readOwnTexts(sql, projectId, traceId, names)
  return trace && `{${bodies(trace)},"metadata":${raw(trace.metadata, '{}')}}`
}

/** Parts of a response with the texts of the trace and all its spans. */
export const TEXT_PARTS: PartTexts = {
  head: ({ trace }) => `{"trace":{${bodies(trace)}},"spans":[`,
  span: span => textsOf(span),
  foot: () => ']}'
}

const bodies = ({ input, output }: Pick<SpanRow, 'input' | 'output'>): string =>
  `"input":${raw(input, 'null')},"output":${raw(output, 'null')}`

const textsOf = (span: SpanRow): string =>
  `{"id":"${span.id}",${bodies(span)},"attributes":${raw(span.attributes, '{}')},"events":${raw(span.events, '[]')}}`

function outlineOf(span: SizedSpan, traceId: string): string {
  return (
    `{${renderSpanHead(span, traceId)},"usage":${renderSpanUsage(span)},"costUsd":${span.costUsd}` +
    `,"computedCost":${raw(span.computedCost, 'null')},"tokenDetails":${raw(span.tokenDetails, 'null')}` +
    `,"inputBytes":${span.inputBytes},"outputBytes":${span.outputBytes}` +
    `,"attributesBytes":${span.attributesBytes},"eventCount":${span.eventCount}` +
    `,"inputDigest":${text(span.inputDigest)}}`
  )
}

/**
 * Returns a version that changes whenever the outline does. Separately received messages do not change the trace's
 * stored version, so the returned version includes the number of messages.
 */
async function readVersion(sql: Sql, projectId: number, traceId: string): Promise<string | undefined> {
  const [row] = await sql<{ version: number; messages: number }[]>`
    select version, (
      select count(*)::int from span_messages m where m.project_id = ${projectId} and m.trace_id = t.id
    ) as messages
    from traces t where project_id = ${projectId} and id = ${traceId}`
  return row && `${row.version}.${row.messages}`
}

/** Returns the email addresses of the scores' authors. */
async function readAuthors(sql: Sql, { scores }: ShownTrace): Promise<ReadonlyMap<number, string>> {
  const ids = [...new Set(scores.map(({ authorId }) => authorId).filter(id => id !== null))]
  if (ids.length === 0) return new Map()
  const rows = await sql<{ id: number; email: string }[]>`select id, email from users where id = any (${ids}::int[])`
  return new Map(rows.map(({ id, email }) => [id, email]))
}
