/**
 * The columns that the write path fills, in order, and how their values travel: many rows at once, one text parameter a
 * column, which the statement takes apart. COPY of the same rows (the benchmark's limit) reads the same lists.
 *
 * - `plain`: cells joined by U+0001, null as U+0002, taken apart by string_to_array. JSON text, numbers, times and
 *   hexadecimal never hold a control character, so nothing is escaped on either side. Measured against array literals
 *   (PostgreSQL 18, 8 spans of 2 kB): 300 instead of 420 µs of PostgreSQL's CPU a trace, 80 instead of 210 µs of node's.
 * - `quoted`: elements of an array literal, for the short texts in which a client may put any character.
 */
import type { ListNumber } from './list-numbers.ts'

export interface Column {
  readonly name: string
  readonly type: string
  readonly form: 'plain' | 'quoted'
}

const plain = <N extends string>(name: N, type: string) => ({ name, type, form: 'plain' as const })
const quoted = <N extends string>(name: N, type = 'text') => ({ name, type, form: 'quoted' as const })

/** What the service adds to a recorded trace. */
export const TRACE_SERVICE_COLUMNS = [
  plain('project_id', 'int'),
  plain('seq', 'bigint'),
  plain('version', 'bigint'),
  plain('environment', 'text'),
  plain('key_id', 'text'),
  plain('ingested_at', 'timestamptz')
] as const

/** What the body says of a trace. */
export const TRACE_BODY_COLUMNS = [
  plain('id', 'uuid'),
  plain('span_count', 'int'),
  plain('error_count', 'int'),
  plain('started_at', 'timestamptz'),
  plain('ended_at', 'timestamptz'),
  plain('duration_ms', 'bigint'),
  plain('input_tokens', 'bigint'),
  plain('output_tokens', 'bigint'),
  plain('total_tokens', 'bigint'),
  plain('cost_usd', 'float8'),
  plain('document_bytes', 'int'),
  plain('estimated_bytes', 'bigint'),
  plain('status', 'text'),
  plain('body_hash', 'bytea'),
  plain('ranks', 'json'),
  plain('input', 'json'),
  plain('output', 'json'),
  plain('metadata', 'json'),
  quoted('name'),
  quoted('provider'),
  quoted('model'),
  quoted('session_id'),
  quoted('user_id'),
  quoted('tags', 'text[]')
] as const

export const TRACE_COLUMNS: readonly Column[] = [...TRACE_SERVICE_COLUMNS, ...TRACE_BODY_COLUMNS]

/** What is computed of a trace: by the statement, or where the rows that are copied are made. */
export const LIST_COLUMNS = [
  plain('family', 'bigint'),
  plain('named_family', 'bigint'),
  plain('user_family', 'bigint'),
  plain('user_named_family', 'bigint')
] as const

/** What the service adds to a row that is copied: besides, which rankings it is in. */
const RANKED = plain('ranked', 'smallint')
export const TRACE_STAMP_COLUMNS = [...TRACE_SERVICE_COLUMNS, RANKED] as const
export const TAG_STAMP_COLUMNS = [plain('project_id', 'int'), RANKED] as const

/** What is copied of a trace. */
export const COPIED_TRACE_COLUMNS: readonly Column[] = [...TRACE_STAMP_COLUMNS, ...LIST_COLUMNS, ...TRACE_BODY_COLUMNS]

/** What only a restored trace has when its row is inserted. */
export const TRACE_PAST_COLUMNS = [
  plain('score_count', 'int'),
  plain('metadata_updated_at', 'timestamptz'),
  plain('end_hash', 'bytea')
] as const

export const RESTORED_COLUMNS: readonly Column[] = [...TRACE_COLUMNS, ...TRACE_PAST_COLUMNS]

/** Which trace a span or a score belongs to. */
export const OWNER_COLUMNS = [plain('project_id', 'int'), plain('trace_seq', 'bigint')] as const

/** The free JSON of a span. */
export const SPAN_TEXT_COLUMNS = [
  plain('input', 'json'),
  plain('output', 'json'),
  plain('attributes', 'json'),
  plain('events', 'json')
] as const

/** How that is stored: in these, or with that of others in the last. */
export const STORED_TEXT_COLUMNS = [...SPAN_TEXT_COLUMNS, plain('packed', 'bytea')] as const

export const SPAN_ID_COLUMN = plain('id', 'bytea')

/** What the body says of a span besides. */
export const SPAN_HEAD_COLUMNS = [
  SPAN_ID_COLUMN,
  plain('parent_id', 'bytea'),
  plain('hash', 'bytea'),
  plain('kind', 'text'),
  plain('status', 'text'),
  plain('started_at', 'timestamptz'),
  plain('ended_at', 'timestamptz'),
  plain('input_tokens', 'bigint'),
  plain('output_tokens', 'bigint'),
  plain('total_tokens', 'bigint'),
  plain('cost_usd', 'float8'),
  quoted('name'),
  quoted('provider'),
  quoted('model')
] as const

export const SPAN_COLUMNS: readonly Column[] = [...OWNER_COLUMNS, ...STORED_TEXT_COLUMNS, ...SPAN_HEAD_COLUMNS]

/** What stands beside a trace for each of its tags. */
export const TAG_BODY_COLUMNS = [
  plain('named_family', 'bigint'),
  plain('family', 'bigint'),
  plain('tag_family', 'bigint'),
  plain('tag_named_family', 'bigint'),
  plain('tag_user', 'bigint'),
  plain('started_at', 'timestamptz'),
  plain('duration_ms', 'bigint'),
  plain('cost_usd', 'float8'),
  plain('id', 'uuid'),
  quoted('user_id'),
  quoted('tag')
] as const

export const TAG_COLUMNS: readonly Column[] = [...TAG_STAMP_COLUMNS, ...TAG_BODY_COLUMNS]

/** A score of a restored trace; its number, which counts insertions, is the table's default. */
export const SCORE_BODY_COLUMNS = [
  plain('id', 'bytea'),
  plain('span_id', 'bytea'),
  plain('data_type', 'text'),
  plain('value', 'json'),
  plain('source', 'text'),
  plain('created_at', 'timestamptz'),
  quoted('name'),
  quoted('comment'),
  quoted('evaluator_id'),
  quoted('run_id')
] as const

export const SCORE_COLUMNS: readonly Column[] = [...OWNER_COLUMNS, ...SCORE_BODY_COLUMNS]

/** Which stored trace a change is for, the version that it holds for, and what it adds to the project's totals. */
const TARGET_COLUMNS = [
  plain('project_id', 'int'),
  plain('seq', 'bigint'),
  plain('old_version', 'bigint'),
  plain('version', 'bigint'),
  plain('added_spans', 'bigint'),
  plain('added_bytes', 'bigint')
] as const

/** What spans change of the trace that they come to. */
const SUM_COLUMNS = [
  plain('span_count', 'int'),
  plain('error_count', 'int'),
  plain('estimated_bytes', 'bigint')
] as const

/** What an end and a growth set besides. */
const DONE_COLUMNS = [
  plain('ended_at', 'timestamptz'),
  plain('duration_ms', 'bigint'),
  plain('input_tokens', 'bigint'),
  plain('output_tokens', 'bigint'),
  plain('total_tokens', 'bigint'),
  plain('cost_usd', 'float8'),
  plain('document_bytes', 'int'),
  plain('status', 'text')
] as const

export const APPEND_COLUMNS = [...TARGET_COLUMNS, ...SUM_COLUMNS] as const

export const END_COLUMNS = [
  ...TARGET_COLUMNS,
  ...SUM_COLUMNS,
  ...DONE_COLUMNS,
  plain('end_hash', 'bytea'),
  plain('sets_output', 'boolean'),
  plain('output', 'json'),
  plain('sets_metadata', 'boolean'),
  plain('metadata', 'json'),
  quoted('provider'),
  quoted('model'),
  quoted('tags', 'text[]')
] as const

/** Spans for a stored trace that is gathered from them: they may change nearly everything of it. */
export const GROWTH_COLUMNS = [
  ...TARGET_COLUMNS,
  ...SUM_COLUMNS,
  ...DONE_COLUMNS,
  plain('started_at', 'timestamptz'),
  plain('body_hash', 'bytea'),
  plain('ranks', 'json'),
  plain('sets_input', 'boolean'),
  plain('input', 'json'),
  plain('sets_output', 'boolean'),
  plain('output', 'json'),
  plain('metadata', 'json'),
  quoted('name'),
  quoted('provider'),
  quoted('model'),
  quoted('session_id'),
  quoted('user_id'),
  quoted('tags', 'text[]')
] as const

const SEPARATOR = '\u0001'
const NULL_MARK = '\u0002'

const escaped = (text: string): string => (/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text)
const element = (text: string | null): string => (text === null ? 'null' : `"${escaped(text)}"`)

/** A value of a column; bytea in hexadecimal or as bytes, and a list's number only where it is copied. */
export type Value = string | number | boolean | readonly string[] | Uint8Array | ListNumber | null

/** One value as it stands in its column's parameter. */
export function cell(column: Column, value: Value): string {
  if (column.type === 'text[]') return element(value === null ? null : arrayLiteral(value as readonly string[]))
  if (column.form === 'quoted') return element(value as string | null)
  if (value === null) return NULL_MARK
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  return column.type === 'bytea' ? `\\x${value}` : String(value)
}

const arrayLiteral = (texts: readonly string[]): string => `{${texts.map(element).join(',')}}`

/** Joins cells, or cells joined before, of one column. At least one. */
export const joinCells = (column: Column, cells: readonly string[]): string =>
  cells.join(column.form === 'quoted' ? ',' : SEPARATOR)

/** The value of a column's parameter. */
export const parameter = (column: Column, joined: string): string => (column.form === 'quoted' ? `{${joined}}` : joined)

/** The rows of `columns` as a source for `from`, their parameters numbered from `first`. */
export function rowSource(columns: readonly Column[], first: number, alias: string): string {
  const arrays = columns.map((column, i) =>
    column.form === 'quoted' ? `$${first + i}::text[]` : `string_to_array($${first + i}::text, E'\\x01', E'\\x02')`
  )
  return `unnest(${arrays.join(', ')}) as ${alias} (${columns.map(column => column.name).join(', ')})`
}

/** A column of such a source in its own type. */
export const typed = (column: Column, alias: string): string =>
  column.type === 'text' ? `${alias}.${column.name}` : `${alias}.${column.name}::${column.type}`
