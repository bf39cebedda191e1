/**
 * Lists the columns that the write path fills. COPY rows, statements that change a trace, and field offsets in rows all
 * derive from these lists. A new trace field needs a line here, in column-values.ts and in sql/.
 */
import type { ListNumber } from './list-numbers.ts'

export interface Column {
  readonly name: string
  readonly type: string
  /** Set if the value is never null and has a constant width, so that the next column's offset is fixed. */
  readonly fixed?: true
  /** Set if a change can only turn a stored boolean on, so that a change with `false` keeps the stored value. */
  readonly onlyOn?: true
}

const column = <N extends string>(name: N, type: string) => ({ name, type })
const onlyOn = <N extends string>(name: N) => ({ name, type: 'boolean', onlyOn: true as const })
const fixed = <N extends string>(name: N, type: keyof typeof WIDTHS) => ({ name, type, fixed: true as const })

/** A numeric that is a power of ten whose exponent is a multiple of four. */
export interface PowerOfTen {
  readonly isNegative: boolean
  readonly exponent: number
}

/** A column value: bytea as hexadecimal digits or bytes, json as text, timestamps in canonical form. */
export type Value = string | number | boolean | readonly string[] | Uint8Array | ListNumber | PowerOfTen | null

/** Numbers of a trace's lists (lib/rows/list-numbers.ts). */
export const LIST_COLUMNS = [
  fixed('family', 'bigint'),
  fixed('named_family', 'bigint'),
  column('user_family', 'bigint'),
  column('user_named_family', 'bigint')
] as const

/**
 * New-trace columns known only when the trace is written. The `ranked` column says which rankings include the trace.
 */
export const TRACE_STAMP_COLUMNS = [
  column('project_id', 'int'),
  column('seq', 'bigint'),
  column('version', 'bigint'),
  column('environment', 'text'),
  column('key_id', 'text'),
  column('ingested_at', 'timestamptz'),
  column('ranked', 'smallint')
] as const

/** New-trace columns that derive from the body, and from the past of a restored trace. */
export const TRACE_BODY_COLUMNS = [
  column('id', 'uuid'),
  column('span_count', 'int'),
  column('error_count', 'int'),
  column('score_count', 'int'),
  column('started_at', 'timestamptz'),
  column('ended_at', 'timestamptz'),
  column('metadata_updated_at', 'timestamptz'),
  column('duration_ms', 'bigint'),
  column('input_tokens', 'bigint'),
  column('output_tokens', 'bigint'),
  column('total_tokens', 'bigint'),
  column('cost_usd', 'float8'),
  column('is_run', 'boolean'),
  column('document_bytes', 'int'),
  column('estimated_bytes', 'bigint'),
  column('status', 'text'),
  column('body_hash', 'bytea'),
  column('end_hash', 'bytea'),
  column('ranks', 'json'),
  column('metadata', 'json'),
  column('name', 'text'),
  column('provider', 'text'),
  column('model', 'text'),
  column('session_id', 'text'),
  column('user_id', 'text'),
  column('tags', 'text[]')
] as const

/** The spans that have a trace's input and output, and the lengths of these texts. */
const SHARED_TEXT_COLUMNS = [
  column('input_span_id', 'bytea'),
  column('output_span_id', 'bytea'),
  column('input_bytes', 'int'),
  column('output_bytes', 'int')
] as const

/** A trace's input and output, or the spans that have the same texts (lib/rows/trace-texts.ts). */
export const TRACE_TEXT_COLUMNS = [column('input', 'json'), column('output', 'json'), ...SHARED_TEXT_COLUMNS] as const

export const TRACE_COLUMNS: readonly Column[] = [
  ...TRACE_STAMP_COLUMNS,
  ...LIST_COLUMNS,
  ...TRACE_BODY_COLUMNS,
  ...TRACE_TEXT_COLUMNS
]

/** The trace that owns a span or score. Known only when the row is written. */
export const OWNER_COLUMNS = [fixed('project_id', 'int'), fixed('trace_seq', 'bigint')] as const

/** A span's free-form JSON. */
export const SPAN_TEXT_COLUMNS = [
  column('input', 'json'),
  column('output', 'json'),
  column('attributes', 'json'),
  column('events', 'json')
] as const

/**
 * Span texts, either in four columns or packed together with other spans' texts in `packed` (lib/rows/packed-texts.ts).
 */
export const STORED_TEXT_COLUMNS = [...SPAN_TEXT_COLUMNS, column('packed', 'bytea')] as const

export const SPAN_ID_COLUMN = column('id', 'bytea')

/** Span columns, except the texts, that derive from the body. */
export const SPAN_HEAD_COLUMNS = [
  SPAN_ID_COLUMN,
  column('parent_id', 'bytea'),
  column('hash', 'bytea'),
  column('kind', 'text'),
  column('status', 'text'),
  column('started_at', 'timestamptz'),
  column('ended_at', 'timestamptz'),
  column('input_tokens', 'bigint'),
  column('output_tokens', 'bigint'),
  column('total_tokens', 'bigint'),
  column('cost_usd', 'float8'),
  column('name', 'text'),
  column('provider', 'text'),
  column('model', 'text'),
  column('call_details', 'json')
] as const

export const SPAN_COLUMNS: readonly Column[] = [...OWNER_COLUMNS, ...STORED_TEXT_COLUMNS, ...SPAN_HEAD_COLUMNS]

/** Columns of a tag row that are known only when the row is written. */
export const TAG_STAMP_COLUMNS = [fixed('project_id', 'int'), fixed('ranked', 'smallint')] as const

/** The remaining tag columns: the tag, its lists, and the trace fields that lists show. */
export const TAG_BODY_COLUMNS = [
  fixed('tag_family', 'bigint'),
  fixed('tag_named_family', 'bigint'),
  column('named_family', 'bigint'),
  column('family', 'bigint'),
  column('tag_user', 'bigint'),
  column('started_at', 'timestamptz'),
  column('duration_ms', 'bigint'),
  column('cost_usd', 'float8'),
  column('id', 'uuid'),
  column('user_id', 'text'),
  column('tag', 'text')
] as const

export const TAG_COLUMNS: readonly Column[] = [...TAG_STAMP_COLUMNS, ...TAG_BODY_COLUMNS]

/** Amounts that a trace adds to, or subtracts from, the rollups (lib/rollups/amounts.ts). */
export const DELTA_COLUMNS = [
  fixed('project_id', 'int'),
  column('traces', 'int'),
  column('errors', 'int'),
  column('priced', 'int'),
  column('started_at', 'timestamptz'),
  column('family', 'bigint'),
  column('input_tokens', 'numeric'),
  column('output_tokens', 'numeric'),
  column('cost', 'numeric'),
  column('latency', 'numeric'),
  column('name', 'text'),
  column('user_id', 'text')
] as const

/** A restored trace's score. PostgreSQL assigns the score's number, which increases with each insertion. */
export const SCORE_BODY_COLUMNS = [
  column('id', 'bytea'),
  column('span_id', 'bytea'),
  column('data_type', 'text'),
  column('value', 'json'),
  column('source', 'text'),
  column('created_at', 'timestamptz'),
  column('name', 'text'),
  column('comment', 'text'),
  column('evaluator_id', 'text'),
  column('run_id', 'text')
] as const

export const SCORE_COLUMNS: readonly Column[] = [...OWNER_COLUMNS, ...SCORE_BODY_COLUMNS]

/** A write that must be indexed for search (lib/store/search). */
export const INDEXED_COLUMNS = [
  column('project_id', 'int'),
  column('seq', 'bigint'),
  column('version', 'bigint')
] as const

/** The stored trace to change, and the version that the trace must still have. */
export const TARGET_COLUMNS = [column('seq', 'bigint'), column('old_version', 'bigint')] as const

/** Columns that every change sets. */
export const APPEND_COLUMNS = [
  ...TARGET_COLUMNS,
  column('version', 'bigint'),
  column('span_count', 'int'),
  column('error_count', 'int'),
  column('estimated_bytes', 'bigint'),
  onlyOn('is_run')
] as const

/**
 * Columns that ends and growths also set. A column `sets_x` says whether column `x` is set or keeps its stored value,
 * and so do the columns that say where the text `x` is stored.
 */
const DONE_COLUMNS = [
  ...APPEND_COLUMNS,
  ...LIST_COLUMNS,
  column('ranked', 'smallint'),
  column('ended_at', 'timestamptz'),
  column('duration_ms', 'bigint'),
  column('input_tokens', 'bigint'),
  column('output_tokens', 'bigint'),
  column('total_tokens', 'bigint'),
  column('cost_usd', 'float8'),
  column('document_bytes', 'int'),
  column('status', 'text'),
  column('sets_output', 'boolean'),
  column('output', 'json'),
  column('metadata', 'json'),
  column('provider', 'text'),
  column('model', 'text'),
  column('tags', 'text[]')
] as const

export const END_COLUMNS = [...DONE_COLUMNS, column('end_hash', 'bytea'), column('sets_metadata', 'boolean')] as const

/** Columns that a growth sets. New OpenTelemetry spans can change nearly every field of a trace. */
export const GROWTH_COLUMNS = [
  ...DONE_COLUMNS,
  column('started_at', 'timestamptz'),
  column('body_hash', 'bytea'),
  column('ranks', 'json'),
  column('sets_input', 'boolean'),
  column('input', 'json'),
  ...SHARED_TEXT_COLUMNS,
  column('name', 'text'),
  column('session_id', 'text'),
  column('user_id', 'text')
] as const

/** Columns that an advance sets. An advance moves a stored trace to the later state of an export line. */
export const ADVANCE_COLUMNS = [
  ...GROWTH_COLUMNS,
  column('end_hash', 'bytea'),
  column('metadata_updated_at', 'timestamptz'),
  column('score_count', 'int')
] as const

/** Bytes per value in COPY's binary format. */
const WIDTHS = { smallint: 2, int: 4, bigint: 8 } as const

/** Bytes of a row's leading field count. Each field begins with its length, in LENGTH_BYTES bytes. */
const COUNT_BYTES = 2
const LENGTH_BYTES = 4

/**
 * Returns the byte offset of a column's value in a row of these columns. If `fields` is set, the row has no leading
 * field count. Throws if a preceding column has a variable width.
 */
export function offsetIn(columns: readonly Column[], name: string, fields = false): number {
  let at = fields ? 0 : COUNT_BYTES
  for (const { name: each, type, fixed } of columns) {
    if (each === name) return at + LENGTH_BYTES
    if (!fixed) break
    at += LENGTH_BYTES + WIDTHS[type as keyof typeof WIDTHS]
  }
  throw new Error(`the place of the column ${name} is not fixed`)
}
