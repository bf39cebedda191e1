/**
 * The table rollup_news holds deltas, which are amounts that are not yet included in rollups. New and changed traces
 * add rows to this table by COPY (lib/store/write/copy-batch.ts). Statements that delete or move traces return the
 * resulting amounts. A second statement in the same transaction writes these amounts, because
 * test/fixtures/statements/lint.ts forbids an insert and a deletion in one statement.
 */
import type { Sql } from 'postgres'
import { ADVISORY_LOCK } from '../../../database/advisory-locks.ts'
import { AMOUNTS, type Amount, amountsInSql } from '../../../rollups/amounts.ts'
import { hashInSql } from '../../../rows/list-numbers.ts'

/** Hours and days start at multiples of their length from this time, in UTC. */
export const ORIGIN = `'2000-01-01T00:00:00Z'::timestamptz`
export const hourOf = (time: string): string => `date_bin('1 hour', ${time}, ${ORIGIN})`
export const dayOf = (time: string): string => `date_bin('1 day', ${time}, ${ORIGIN})`

/** Returns SQL for an environment's key. The `environment` expression may yield null. */
export const environmentKeyInSql = (environment: string): string => hashInSql(`coalesce(${environment}, '')`, '0')

const WIDE: readonly Amount[] = ['input_tokens', 'output_tokens', 'cost']
/** Clamps sums of tokens and costs to the range of bigint. Trace counts never come close to the limits of bigint. */
export const held = (name: Amount, sum: string): string =>
  WIDE.includes(name) ? `greatest(least(${sum}, ${MOST}), -${MOST})::bigint` : sum
const MOST = '9000000000000000000'

/** Columns of rollup_news, except `project_id`. */
export const DELTA_NAMES = ['started_at', 'family', 'name', 'user_id', ...AMOUNTS] as const
export const SUMS = AMOUNTS.map(name => `sum(${name}) as ${name}`).join(', ')
/** SQL condition that is true if at least one of a group's sums is not zero. */
export const ANYTHING = AMOUNTS.map(name => `sum(${name}) <> 0`).join(' or ')

/**
 * Returns SQL for the delta columns of an ended trace, except `project_id`. `one` is 1 to add the trace, or -1 to
 * subtract it.
 */
export function deltaInSql(trace: string, one: 1 | -1, family = `${trace}.family`): string {
  const amounts = amountsInSql(trace, one)
  const cells = AMOUNTS.map(name => `${amounts[name]} as ${name}`).join(', ')
  const hour = hourOf(`${trace}.started_at`)
  return `${hour} as started_at, ${family} as family, ${trace}.name, ${trace}.user_id, ${cells}`
}

/** Trace columns that a deletion must return so that its deltas can be computed. */
export const DELTA_SOURCES =
  'started_at, ended_at, duration_ms, name, user_id, status, family, input_tokens, output_tokens, cost_usd'

/** Returns SQL for deltas summed by hour, as a JSON string or null. The query `deltas` has deltaInSql's columns. */
export const deltasAsJson = (deltas: string): string => `(
  select json_agg(told)::text from (
    select started_at, family, name, user_id, ${SUMS} from (${deltas}) each
    group by started_at, family, name, user_id having ${ANYTHING}
  ) told)`

/** Writes the deltas that a deltasAsJson statement returned. Must run in the same transaction as that statement. */
export async function addDeltas(sql: Sql, projectId: number, deltas: string | null): Promise<void> {
  if (deltas !== null) await sql.unsafe(ADD_DELTAS, [projectId, deltas], { prepare: true })
}

/** Returns SQL that declares the amounts' columns. `count` is the type of numbers of traces. */
export const amountColumns = (count: 'int' | 'bigint'): string =>
  AMOUNTS.map(name => `${name} ${name === 'latency' || WIDE.includes(name) ? 'numeric' : count}`).join(', ')
const ADD_DELTAS = `
  insert into rollup_news (project_id, ${DELTA_NAMES.join(', ')})
  select $1::int, ${DELTA_NAMES.join(', ')} from json_to_recordset($2::json) as told (
    started_at timestamptz, family bigint, name text, user_id text, ${amountColumns('int')})`

/** Counts the rows of rollup_news that are waiting to be folded, across all projects. */
export async function countDeltas(sql: Sql): Promise<number> {
  const [row] = await sql<[{ rows: number }]>`select count(*) as rows from rollup_news`
  return row.rows
}

/**
 * Waits for the lock on a project's rollups and holds it until the transaction ends. Every transaction that changes
 * rollups takes this lock, so that only one such transaction runs at a time, across all processes.
 */
export async function lockRollups(sql: Sql, projectId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(${ADVISORY_LOCK.rollups}, ${projectId})`
}

/** Tries to take the lock without waiting. Returns whether the lock was taken. */
export async function tryLockRollups(sql: Sql, projectId: number): Promise<boolean> {
  const [row] = await sql<
    [{ locked: boolean }]
  >`select pg_try_advisory_xact_lock(${ADVISORY_LOCK.rollups}, ${projectId}) as locked`
  return row.locked
}
