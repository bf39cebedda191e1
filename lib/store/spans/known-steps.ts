/** Reads what the steps of a project are called, for answers to queries that match nothing. */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'

/** Numbers of newest traces, and of spans of each of them, that are searched for names. */
const LOOKED_AT = { traces: 300, spans: 50 }
/** Maximum number of values of each kind. */
const MOST = 200

export interface KnownSteps {
  /** Names and models of steps of the newest traces, most frequent first. */
  readonly names: readonly string[]
  readonly models: readonly string[]
  /** Environments of the project's traces, past ones included. */
  readonly environments: readonly string[]
  /** Start of the newest trace; null if the project has no traces. */
  readonly newest: string | null
  /** Whether the trace that the query names exists; null if it names none. */
  readonly hasTrace: boolean | null
}

export async function readKnownSteps(
  sql: Sql,
  projectId: number,
  traceId: string | undefined,
  names: TableNames = SCHEMA_NAMES
): Promise<KnownSteps> {
  const [traces, spans, families] = [
    sql.unsafe(names.traces),
    sql.unsafe(names.spans),
    sql.unsafe(names.trace_families)
  ]
  const frequent = (column: 'name' | 'model') => sql`array(
    select ${sql(column)} from steps where ${sql(column)} is not null
    group by ${sql(column)} order by count(*) desc, ${sql(column)} limit ${MOST})`
  const [row] = await sql<[KnownSteps]>`
    with newest as materialized (
      select seq, started_at from ${traces} where project_id = ${projectId}
      order by started_at desc, id desc limit ${LOOKED_AT.traces}
    ), steps as materialized (
      select s.name, s.model from newest n cross join lateral (
        select name, model from ${spans} s where s.project_id = ${projectId} and s.trace_seq = n.seq
        limit ${LOOKED_AT.spans}
      ) s
    )
    select ${frequent('name')} as names, ${frequent('model')} as models,
      array(
        select distinct environment from ${families}
        where project_id = ${projectId} and environment is not null order by 1 limit ${MOST}
      ) as environments,
      (select max(started_at) from newest) as newest,
      ${
        traceId === undefined
          ? sql`null::boolean`
          : sql`exists (
        select from ${traces} t where t.project_id = ${projectId} and t.id = ${traceId}
      )`
      } as "hasTrace"`
  return row
}
