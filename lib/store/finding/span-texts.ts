/** Reads the texts of a few spans of many traces. */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import { Slices } from '../../limits/slices.ts'
import { MAX_SLICED_BYTES, unpackSpans } from '../../rows/packed-texts.ts'
import type { Bind } from '../lists/trace-query.ts'

export interface SpanTextRow {
  readonly seq: number
  readonly id: string
  readonly name: string
  readonly kind: string
  readonly status: string
  readonly input: string | null
  readonly output: string | null
  readonly attributes: string | null
  readonly events: string | null
}

type Row = SpanTextRow & { readonly isWanted: boolean; readonly packed: string | null }

/** The first failed spans of each trace, by their ends: a step fails before the steps around it. */
export interface WantedFailures {
  /** Conditions on spans as s, each with a leading `and`. */
  readonly conditions: (bind: Bind) => readonly string[]
  /** Maximum number per trace. */
  readonly most: number
}

export interface WantedSpans {
  readonly names: TableNames
  readonly seqs: readonly number[]
  readonly spans?: readonly { readonly seq: number; readonly id: string }[]
  readonly failures?: WantedFailures
}

/**
 * Reads spans of traces, each trace's in the order in which they ended. Texts packed together can only be read
 * together, so all rows of a wanted span's group are read. A row without texts may belong to any group that is stored
 * as a single slice.
 */
export async function readSpanTexts(
  sql: Sql,
  projectId: number,
  { names, seqs, spans = [], failures }: WantedSpans
): Promise<readonly SpanTextRow[]> {
  if (seqs.length === 0) return []
  const values: (string | number | null)[] = [projectId]
  const bind: Bind = value => `$${values.push(value)}`
  const all = `${bind(`{${seqs.join(',')}}`)}::bigint[]`
  const wanted = [
    ...(failures === undefined
      ? []
      : [
          `select seq, id, group_id, is_bare from (
            select ${FOUND}, row_number() over (partition by trace_seq order by ended_at, started_at desc, id) as place
            from ${names.spans} s where s.project_id = $1 and s.trace_seq = any (${all}) and s.status = 'error'
              ${failures.conditions(bind).join(' ')}
          ) failed where place <= ${bind(failures.most)}`
        ]),
    ...(spans.length === 0 && failures !== undefined
      ? []
      : [
          `select ${FOUND}
          from unnest(${bind(`{${spans.map(({ seq }) => seq).join(',')}}`)}::bigint[],
            ${bind(`{${spans.map(({ id }) => `"\\\\x${id}"`).join(',')}}`)}::bytea[]) as k (own_seq, own_id)
          join ${names.spans} on project_id = $1 and trace_seq = k.own_seq and id = k.own_id`
        ])
  ]
  const rows = await sql.unsafe<Row[]>(
    `with wanted as materialized (
      ${wanted.join(' union ')}
    ), bare as materialized (
      select distinct seq from wanted where is_bare
    ), groups as materialized (
      select distinct seq, group_id from wanted where group_id is not null
    )
    select s.trace_seq as seq, s.id, s.name, s.kind, s.status, w.id is not null as "isWanted", s.packed,
      case when w.id is not null then s.input end as input, case when w.id is not null then s.output end as output,
      case when w.id is not null then s.attributes end as attributes,
      case when w.id is not null then s.events end as events
    from ${names.spans} s
    left join wanted w on w.seq = s.trace_seq and w.id = s.id
    left join groups g on g.seq = s.trace_seq and g.group_id = substr(s.packed, 3, 8)
    left join bare b on b.seq = s.trace_seq and octet_length(s.packed) > ${MAX_SLICED_BYTES}
    where s.project_id = $1 and s.trace_seq = any (array(select distinct seq from wanted))
      and (w.id is not null or g.seq is not null or b.seq is not null)
    order by s.trace_seq, s.ended_at, s.started_at desc, s.id`,
    values,
    { prepare: false }
  )
  const ofTrace = new Map<number, Row[]>(seqs.map(seq => [seq, []]))
  for (const row of rows) ofTrace.get(row.seq)?.push(row)
  const slices = new Slices()
  const found: SpanTextRow[] = []
  for (const own of ofTrace.values()) {
    const isWanted = new Set(own.filter(row => row.isWanted).map(({ id }) => id))
    const unpacked = await unpackSpans(
      own,
      'utf8',
      id => isWanted.has(id),
      () => slices.next()
    )
    found.push(...unpacked.filter(({ id }) => isWanted.has(id)))
  }
  return found
}

const FOUND = `trace_seq as seq, id, substr(packed, 3, 8) as group_id,
  num_nulls(input, output, attributes, events, packed) = 5 as is_bare`
