/**
 * SQL for reading some spans of many traces with their texts. Texts that were packed together can only be unpacked
 * together (lib/rows/packed-texts.ts), so the rows of the groups to which the spans belong are read as well.
 */
import type { TableNames } from '../../database/tables.ts'
import { MAX_SLICED_BYTES, unpackSpans } from '../../rows/packed-texts.ts'

/** Maximum number of bytes of a text in which a failure is sought. */
const MOST_FAILURE_BYTES = 65_536

/**
 * Returns common table expressions, the last of which is `rows`, with a leading comma. `wanted` must be an earlier
 * expression with the columns `seq` and `id`, and $1 the project's id. `rows` has the wanted spans and all spans that
 * may be packed with these. `columns` are expressions over a span as s and `is_wanted`.
 */
export const withPackedRows = ({ spans }: TableNames, columns: string): string => `, packed as materialized (
    select w.seq, substr(s.packed, 3, 8) as group_id,
      num_nulls(s.input, s.output, s.attributes, s.events, s.packed) = 5 as is_bare
    from wanted w join ${spans} s on s.project_id = $1 and s.trace_seq = w.seq and s.id = w.id
  ), groups as materialized (
    select distinct seq, group_id from packed where group_id is not null
  ), bare as materialized (
    select distinct seq from packed where is_bare
  ), rows as materialized (
    select s.trace_seq as seq, s.id, s.packed, is_wanted as "isWanted", ${columns}
    from ${spans} s
    left join wanted w on w.seq = s.trace_seq and w.id = s.id
    left join groups g on g.seq = s.trace_seq and g.group_id = substr(s.packed, 3, 8)
    left join bare b on b.seq = s.trace_seq and octet_length(s.packed) > ${MAX_SLICED_BYTES}
    cross join lateral (select w.id is not null as is_wanted) i
    where s.project_id = $1 and s.trace_seq = any (array(select seq from wanted))
      and (w.id is not null or g.seq is not null or b.seq is not null)
  )`

/** SQL for the columns of a span that responses show, over a span as s. */
export const HEAD_COLUMNS = `
  s.parent_id as "parentSpanId", s.name, s.kind, s.status, s.started_at as "startedAt", s.ended_at as "endedAt",
  round(extract(epoch from s.ended_at - s.started_at) * 1000)::bigint as "durationMs", s.provider, s.model,
  s.input_tokens as "inputTokens", s.output_tokens as "outputTokens", s.total_tokens as "totalTokens",
  s.cost_usd as "costUsd"`

/**
 * SQL for the texts of a span as s, if `condition` holds. Texts that are too long to state a failure are null unless
 * `whole` holds.
 */
export const textColumns = (condition: string, whole = 'false'): string =>
  ['output', 'attributes', 'events']
    .map(
      name =>
        `case when (${condition}) and (${whole} or octet_length(s.${name}::text) <= ${MOST_FAILURE_BYTES})
          then s.${name} end as ${name}`
    )
    .join(', ')

/** A row of `rows`. */
export interface PackedRow {
  readonly seq: number
  readonly id: string
  readonly packed: string | null
  readonly isWanted: boolean
}

/** Returns the wanted rows of one trace with their packed texts. */
export async function unpackWanted<T extends PackedRow>(
  rows: readonly T[],
  pause: () => Promise<void>
): Promise<readonly T[]> {
  const wanted = new Set(rows.filter(({ isWanted }) => isWanted).map(({ id }) => id))
  const unpacked = await unpackSpans(rows, 'utf8', id => wanted.has(id), pause)
  return unpacked.filter(({ isWanted }) => isWanted)
}

/** Groups rows by trace, in the order in which the traces first appear. */
export function byTrace<T extends { readonly seq: number }>(rows: readonly T[]): Map<number, T[]> {
  const traces = new Map<number, T[]>()
  for (const row of rows) {
    const own = traces.get(row.seq)
    if (own === undefined) traces.set(row.seq, [row])
    else own.push(row)
  }
  return traces
}
