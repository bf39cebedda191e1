/**
 * Reads the values that a filter can take, with the number of traces of each. All are counted among the newest traces
 * of the listed time, so that the work does not depend on the size of the project.
 */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import type { Bind } from './trace-query.ts'

/** Number of newest traces whose fields are counted. */
const LOOKED_AT = 5000
/** Numbers of newest traces whose steps are counted, and of steps of each of them. */
const STEPS_OF = { traces: 500, spans: 50 }
/** Maximum number of values. */
const MOST = 20

const COLUMNS = {
  status: 'status',
  name: 'name',
  model: 'model',
  environment: 'environment',
  userId: 'user_id',
  sessionId: 'session_id'
} as const

export const SUGGESTED = [
  ...(Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]),
  'tag',
  'tagKey',
  'step',
  'score'
] as const
export type Suggested = (typeof SUGGESTED)[number]

export interface SuggestionQuery {
  readonly field: Suggested
  /** Text that the values must contain, in any case. Values that begin with the text come first. */
  readonly typed?: string | undefined
  /** Canonical timestamps. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export interface Suggestions {
  readonly values: readonly { readonly value: string; readonly traces: number }[]
  /** Number of newest traces that were counted, if the time has more traces; otherwise null. */
  readonly newest: number | null
}

/** Reads the most frequent values of a field. */
export async function readSuggestions(
  sql: Sql,
  projectId: number,
  { field, typed, from, to }: SuggestionQuery,
  names: TableNames
): Promise<Suggestions> {
  const values: (string | number | null)[] = [projectId]
  const bind: Bind = value => `$${values.push(value)}`
  const most = field === 'step' ? STEPS_OF.traces : LOOKED_AT
  const within = [
    ...(from === undefined ? [] : [`and started_at >= ${bind(from)}`]),
    ...(to === undefined ? [] : [`and started_at <= ${bind(to)}`])
  ]
  const text = typed === undefined ? undefined : `lower(${bind(typed)}::text)`
  const rows = await sql.unsafe<{ value: string | null; traces: number; looked: number }[]>(
    `with newest as materialized (
      select seq, status, name, model, environment, user_id, session_id, tags, score_count from ${names.traces}
      where project_id = $1 ${within.join(' ')} order by started_at desc, id desc limit ${most}
    ), named as (
      select value, count(distinct seq)::int as traces from (${valuesOf(field, names)}) each
      where value is not null ${text === undefined ? '' : `and strpos(lower(value), ${text}) > 0`}
      group by value
      order by ${text === undefined ? '' : `starts_with(lower(value), ${text}) desc,`} traces desc, value limit ${MOST}
    )
    select named.*, looked.looked from (select count(*)::int as looked from newest) looked left join named on true`,
    values,
    { prepare: false }
  )
  return {
    values: rows.flatMap(({ value, traces }) => (value === null ? [] : { value, traces })),
    newest: rows[0]!.looked === most ? most : null
  }
}

function valuesOf(field: Suggested, names: TableNames): string {
  switch (field) {
    case 'tag':
      return 'select seq, tag as value from newest, unnest(tags) as tag'
    case 'tagKey':
      // Tags such as prompt:v2 have the key prompt.
      return `select seq, split_part(tag, ':', 1) as value from newest, unnest(tags) as tag where strpos(tag, ':') > 1`
    case 'step':
      return `select newest.seq, s.value from newest cross join lateral (
        select name as value from ${names.spans}
        where project_id = $1 and trace_seq = newest.seq limit ${STEPS_OF.spans}
      ) s`
    case 'score':
      return `select newest.seq, s.value from newest cross join lateral (
        select name as value from ${names.scores}
        where project_id = $1 and trace_seq = newest.seq and newest.score_count > 0
      ) s`
    default:
      return `select seq, ${COLUMNS[field]} as value from newest`
  }
}
