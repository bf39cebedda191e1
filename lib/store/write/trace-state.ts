/** Reads the states of stored traces. The write path bases its decisions on these states. */
import type { Sql } from 'postgres'
import { MAX_SLICED_BYTES, unpackSpans } from '../../rows/packed-texts.ts'
import { type SharedTexts, withSharedTexts } from '../../rows/trace-texts.ts'
import type { CallDetails } from '../../trace/call-details.ts'
import { type PastScore, SHORT_HASH_DIGITS } from '../../trace/prepared.ts'
import { SpanTree } from '../../trace/span-tree.ts'
import type { TraceState } from '../../trace/states/decide.ts'
import type { CopyState, RestoredHead } from '../../trace/states/decide-restore.ts'
import type { GatheredState } from '../../trace/states/gathered.ts'
import type { CountedSpan } from '../../trace/states/left-out.ts'
import { nameOfResponse, type Ranks, readRanks } from '../../trace/states/ranks.ts'
import { parseTimestamp } from '../../trace/timestamp.ts'
import { allAnswered } from '../transactions.ts'
import { hashesOf, hashStoredSpans } from './span-hashes.ts'

export interface TraceKey {
  readonly projectId: number
  readonly traceId: string
}

/** A trace whose state is read, and the details that the decision needs. */
export interface Look extends TraceKey {
  /** Spans whose stored hashes are read. For `export`, the hashes of all stored spans are read. */
  readonly spanIds: readonly string[]
  /**
   * Further fields to read. `end`: an end may merge metadata and replace the output. `export`: an OpenTelemetry export
   * may change nearly everything. `restore`: a line of an export file is compared with all stored fields.
   */
  readonly detail: 'end' | 'export' | 'restore' | 'none'
  /** For `restore`: the line. If its content is the body of a trace that was recorded whole, their spans are equal. */
  readonly line?: Pick<RestoredHead, 'past' | 'spans'>
}

interface Row extends Omit<TraceState, 'running' | 'spanHashes' | 'tags' | 'gathered' | 'copy'>, SharedTexts {
  readonly n: number
  readonly endedAt: string | null
  readonly tags: string[] | null
  readonly status: string
  readonly sessionId: string | null
  readonly metadataUpdatedAt: string | null
  readonly inputBytes: number
  readonly hasComputedCosts: boolean
  /** The trace's ranks as a JSON string; null unless the `Look` requests this field. */
  readonly ranks: string | null
  readonly spending: string | null
  readonly scores: string | null
  readonly input: string | null
  readonly output: string | null
  /** The spans whose texts the trace shares, and the spans that are packed with them, as SharedCells. */
  readonly shared: string | null
  /** Id and short hash of each stored span that has a hash, without separators. */
  readonly hashes: string | null
  /** Whether a line is compared with spans that were stored without hashes. */
  readonly lacksHashes: boolean
}

const SPAN_ID_DIGITS = 16

function spanHashes(text: string | null): Map<string, string> {
  const hashes = new Map<string, string>()
  const step = SPAN_ID_DIGITS + SHORT_HASH_DIGITS
  for (let i = 0; text !== null && i < text.length; i += step)
    hashes.set(text.slice(i, i + SPAN_ID_DIGITS), text.slice(i + SPAN_ID_DIGITS, i + step))
  return hashes
}

/** Returns a gathered trace's state and the hashes of all its spans; undefined for a trace that is not gathered. */
function gatheredOf(row: Row, tags: readonly string[]) {
  if (row.ranks === null) return undefined
  const patched = row.metadataUpdatedAt !== null
  const ranks = readRanks(row.ranks)
  const cells: readonly UsageCells[] = row.spending === null ? [] : JSON.parse(row.spending)
  const spans = new SpanTree(cells.map(each => spanUsageOf(each, ranks)))
  const gathered: GatheredState = { patched, ...row, tags, ranks, spans }
  return { gathered, spanHashes: new Map(cells.map(([id, ...others]) => [id, others.at(-1) as string])) }
}

type SharedCells = [id: string, input: string | null, output: string | null, packed: string | null]

async function copyOf(row: Row): Promise<CopyState> {
  const { status, endedAt, sessionId, metadataUpdatedAt, hasComputedCosts, ranks, scores } = row
  const cells: readonly SharedCells[] = row.shared === null ? [] : JSON.parse(row.shared)
  const isShared = (id: string) => id === row.inputSpanId || id === row.outputSpanId
  const spans = await unpackSpans(
    cells.map(([id, input, output, packed]) => ({ id, input, output, packed })),
    'utf8',
    isShared
  )
  const { input, output } = withSharedTexts(row, spans)
  return {
    hasComputedCosts,
    status,
    endedAt,
    sessionId,
    input,
    output,
    metadataUpdatedAt,
    ranks: ranks === null ? undefined : readRanks(ranks),
    scores: scores === null ? [] : readScores(scores)
  }
}

type ScoreCells = [string, string | null, string, string, number | string | boolean, ...(string | null)[]]

function readScores(text: string): PastScore[] {
  return (JSON.parse(text) as ScoreCells[]).map(
    ([id, spanId, name, dataType, value, comment, source, evaluatorId, runId, createdAt]) => ({
      id,
      spanId,
      name,
      dataType,
      value,
      comment: comment ?? null,
      source: source as string,
      evaluatorId: evaluatorId ?? null,
      runId: runId ?? null,
      createdAt: parseTimestamp(createdAt as string) as string
    })
  )
}

type Count = number | null
type UsageCells = [
  ...[id: string, parentId: string | null, kind: string, model: string | null, startMicros: number, endMicros: number],
  ...[input: Count, output: Count, total: Count, costUsd: Count, failed: boolean, details: CallDetails | null],
  ...[hash: string]
]

function spanUsageOf(cells: UsageCells, ranks: Ranks): CountedSpan {
  const [id, parentId, kind, model, startMicros, endMicros, inputTokens, outputTokens, totalTokens, ...others] = cells
  const [costUsd, failed, details] = others
  const responseId = details?.responseId ?? ranks[nameOfResponse(id)]?.[2]
  const tokens = { inputTokens, outputTokens, totalTokens }
  const cost = { costUsd, costIsComputed: details?.computedCost !== undefined }
  const calls = { responseId, toolCallId: details?.toolCallId, step: details?.step }
  return { id, parentId, kind, model, startMicros, endMicros, ...tokens, ...cost, failed, ...calls }
}

const SEPARATOR = '\u0001'
const byteaArray = (ids: readonly string[]) => `{${ids.map(id => `"\\\\x${id}"`).join(',')}}`

/**
 * SQL for the project of a row k. `one` is a parameter, used if all rows belong to one project, so that only this
 * project's server is queried. `several` is the row's own column. When projects are on several servers, a statement
 * never covers several projects.
 */
const PROJECT = { one: '$1::int', several: 'k.project_id' } as const

/**
 * Returns SQL for the rows k, with position n, from lists joined by SEPARATOR. For `several`, the first list contains
 * the projects.
 */
function keysOf(of: keyof typeof PROJECT, columns: readonly string[]): string {
  const names = of === 'one' ? columns : ['project_id', ...columns]
  const array = (name: string, i: number) => {
    const place = of === 'one' ? i + 2 : i + 1
    return `string_to_array($${place}::text, E'\\x01')${name === 'project_id' ? '::int[]' : ''}`
  }
  return `unnest(${names.map(array).join(', ')}) with ordinality as k (${names.join(', ')}, n)`
}

/**
 * Joins the traces t of the rows k. `offset 0` makes PostgreSQL look up each trace by key, even if the connection's
 * plan was made while the table's statistics were outdated.
 */
const tracesByKey = (project: string) =>
  `cross join lateral (select * from traces where project_id = ${project} and id = k.id::uuid offset 0) t`

/** Returns the statement that reads states, with scores as ScoreCells and token usage as UsageCells. */
function statesText(of: keyof typeof PROJECT): string {
  const project = PROJECT[of]
  const sharing = `from spans where project_id = ${project} and trace_seq = t.seq
    and id in (t.input_span_id, t.output_span_id)`
  return `
    select k.n, t.seq, t.version, t.ended_at as "endedAt", t.body_hash as "bodyHash", t.end_hash as "endHash",
      t.environment, t.started_at as "startedAt", t.provider, t.model, t.cost_usd as "costUsd", t.tags,
      t.input_tokens as "inputTokens", t.output_tokens as "outputTokens", t.total_tokens as "totalTokens",
      t.span_count as "spanCount", t.error_count as "errorCount",
      t.document_bytes as "documentBytes", t.estimated_bytes as "estimatedBytes",
      t.ranks is not null as "isGathered", t.status, t.name, t.session_id as "sessionId", t.user_id as "userId",
      t.metadata_updated_at as "metadataUpdatedAt",
      case when k.detail <> 'none' then t.metadata end as metadata,
      coalesce(case when k.detail in ('end', 'export') then coalesce(octet_length(t.output::text), t.output_bytes) end, 4)
        as "outputBytes",
      coalesce(case when k.detail = 'export' then coalesce(octet_length(t.input::text), t.input_bytes) end, 4)
        as "inputBytes",
      case when k.detail in ('export', 'restore') then t.ranks end as ranks,
      case when k.detail = 'restore' then t.input::text end as input,
      case when k.detail = 'restore' then t.output::text end as output,
      case when k.detail = 'restore' then encode(t.input_span_id, 'hex') end as "inputSpanId",
      case when k.detail = 'restore' then encode(t.output_span_id, 'hex') end as "outputSpanId",
      case when k.detail = 'restore' and num_nulls(t.input_span_id, t.output_span_id) < 2 then
        (select json_agg(json_build_array(encode(s.id, 'hex'), s.input::text, s.output::text, encode(s.packed, 'hex')))
          from spans s where s.project_id = ${project} and s.trace_seq = t.seq
            and (s.id in (t.input_span_id, t.output_span_id)
              or substr(s.packed, 3, 8) = any (array(select substr(packed, 3, 8) ${sharing}))
              or octet_length(s.packed) > ${MAX_SLICED_BYTES} and exists (select ${sharing} and packed is null)))
      end as shared,
      case when k.detail = 'restore' and t.score_count > 0 then
        (select json_agg(json_build_array(encode(c.id, 'hex'), encode(c.span_id, 'hex'), c.name, c.data_type, c.value,
            c.comment, c.source, c.evaluator_id, c.run_id,
            to_char(c.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US')))
          from scores c where c.project_id = ${project} and c.trace_seq = t.seq)
      end as scores,
      k.detail = 'restore' and t.ranks is not null and exists (
        select from spans s where s.project_id = ${project} and s.trace_seq = t.seq
          and s.call_details ->> 'computedCost' is not null) as "hasComputedCosts",
      case when k.detail = 'export' and t.ranks is not null then
        (select json_agg(json_build_array(encode(s.id, 'hex'), encode(s.parent_id, 'hex'), s.kind, s.model,
            (extract(epoch from s.started_at) * 1000000)::bigint, (extract(epoch from s.ended_at) * 1000000)::bigint,
            s.input_tokens, s.output_tokens, s.total_tokens, s.cost_usd, s.status = 'error', s.call_details,
            left(encode(s.hash, 'hex'), ${SHORT_HASH_DIGITS})))
          from spans s where s.project_id = ${project} and s.trace_seq = t.seq)
      end as spending,
      case when k.detail <> 'export' then (
        select string_agg(encode(s.id, 'hex') || left(encode(s.hash, 'hex'), ${SHORT_HASH_DIGITS}), '') from spans s
        where s.project_id = ${project} and s.trace_seq = t.seq and s.id = any (k.span_ids::bytea[])) end as hashes,
      k.detail = 'restore' and t.ranks is null and exists (
        select from spans s where s.project_id = ${project} and s.trace_seq = t.seq and s.hash is null) as "lacksHashes"
    from ${keysOf(of, ['id', 'detail', 'span_ids'])} ${tracesByKey(project)}`
}
const STATES = { one: statesText('one'), several: statesText('several') }

const recordedText = (of: keyof typeof PROJECT) => `
  select k.n, t.body_hash as "bodyHash", t.span_count as "spanCount", t.ranks is not null as "isGathered"
  from ${keysOf(of, ['id'])} ${tracesByKey(PROJECT[of])}`
const RECORDED = { one: recordedText('one'), several: recordedText('several') }

/** Returns whether all keys belong to one project, and the parameter that contains the project or projects. */
function projectsOf(keys: readonly TraceKey[]): readonly [keyof typeof PROJECT, number | string] {
  const first = keys[0]?.projectId ?? 0
  const isOne = keys.every(({ projectId }) => projectId === first)
  return isOne ? ['one', first] : ['several', keys.map(({ projectId }) => projectId).join(SEPARATOR)]
}

/**
 * Reads many traces' states in one query. The result has one element per `Look`: the trace's state, or undefined if the
 * trace does not exist.
 */
export async function readTraceStates(sql: Sql, looks: readonly Look[]): Promise<(TraceState | undefined)[]> {
  const list = (cell: (look: Look) => string) => looks.map(cell).join(SEPARATOR)
  const [of, projects] = projectsOf(looks)
  const rows = await sql.unsafe<Row[]>(
    STATES[of],
    [projects, list(look => look.traceId), list(look => look.detail), list(look => byteaArray(look.spanIds))],
    { prepare: true }
  )
  const states: (TraceState | undefined)[] = looks.map(() => undefined)
  const lookOf = ({ n }: Row) => looks[n - 1] as Look
  const unhashed = rows.filter(row => row.lacksHashes)
  const isBody = (row: Row) => lookOf(row).line?.past.contentHash === row.bodyHash
  const hashed = await hashStoredSpans(sql, unhashed.filter(row => !isBody(row)).map(lookOf))
  for (const row of unhashed.filter(isBody)) hashed.set(lookOf(row), hashesOf(lookOf(row).line?.spans ?? []))
  for (const row of rows) {
    const tags = row.tags ?? []
    const running = row.endedAt === null
    const look = lookOf(row)
    const { detail } = look
    const read = detail === 'export' ? gatheredOf(row, tags) : undefined
    const gathered = read?.gathered
    const known = hashed.get(look) ?? read?.spanHashes ?? spanHashes(row.hashes)
    const copy = detail === 'restore' ? await copyOf(row) : undefined
    states[row.n - 1] = { running, spanHashes: known, gathered, copy, ...row, tags }
  }
  return states
}

type Read<K extends TraceKey, S> = (sql: Sql, keys: readonly K[]) => Promise<(S | undefined)[]>

/** Wraps a reader to send one statement per project, because the projects may be on several servers. */
function byProject<K extends TraceKey, S>(read: Read<K, S>): Read<K, S> {
  return async (sql, keys) => {
    const projects = [...new Set(keys.map(({ projectId }) => projectId))]
    const own = projects.map(project => keys.filter(({ projectId }) => projectId === project))
    const states = await allAnswered(own.map(group => read(sql, group)))
    const found = new Map(own.flatMap((group, i) => group.map((key, n) => [key, states[i]?.[n]] as const)))
    return keys.map(key => found.get(key))
  }
}

export const readStatesByProject = byProject(readTraceStates)

/** Fields that determine whether a stored trace was created from a given body. */
export type RecordedState = Pick<TraceState, 'bodyHash' | 'spanCount' | 'isGathered'>

/** Reads many traces' recorded states in one query. A trace that does not exist yields undefined. */
export async function readRecordedStates(sql: Sql, keys: readonly TraceKey[]): Promise<(RecordedState | undefined)[]> {
  const [of, projects] = projectsOf(keys)
  const rows = await sql.unsafe<(RecordedState & { readonly n: number })[]>(
    RECORDED[of],
    [projects, keys.map(key => key.traceId).join(SEPARATOR)],
    { prepare: true }
  )
  const states: (RecordedState | undefined)[] = keys.map(() => undefined)
  for (const row of rows) states[row.n - 1] = row
  return states
}

export const readRecordedByProject = byProject(readRecordedStates)
