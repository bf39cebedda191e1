/**
 * Handles Citus's statement planning, catalog and error messages, for a database spread over several servers
 * (lib/cluster).
 */
import type { Sql } from 'postgres'

/** Citus sent an intermediate result to a node that no longer holds the shard. */
export const INTERMEDIATE_RESULT_NOT_FOUND = 'CIINF'

/**
 * Detects that a shard was split after a statement was planned but before that statement was executed. The statement
 * had no effect.
 */
export const isReplaced = (message: string): boolean => message.startsWith('could not find valid entry for shard')

/**
 * Returns an error's SQLSTATE. If a COPY fails on a worker, Citus passes on the message and replaces the worker's
 * SQLSTATE with XX000, so the SQLSTATE is then recovered from the message.
 */
export const stateOfCopy = (state: string, message: string): string =>
  (state === 'XX000' ? STATES_ELSEWHERE.find(([pattern]) => pattern.test(message))?.[1] : undefined) ?? state
const STATES_ELSEWHERE: readonly (readonly [RegExp, string])[] = [
  // The name of a shard's constraint ends with the shard's number.
  [/"(?:\w+_pkey|traces_id)_\d+"/, '23505'],
  [/No space left on device$|^could not (?:extend|write to) file/, '53100'],
  [/^out of (?:shared )?memory$/, '53200'],
  [/^cannot execute .* in a read-only transaction$/, '25006'],
  [/^canceling statement due to lock timeout$/, '55P03'],
  [/^canceling statement due to /, '57014'],
  [/^terminating connection due to /, '57P01'],
  [/^deadlock detected$/, '40P01']
]

/**
 * Detects that a coordinator lost its connection to a worker. Citus usually reports an error code, except during a
 * commit, or if libpq finds the connection closed and Citus passes on libpq's message.
 */
export const isNodeAway = (message: string): boolean => NODE_AWAY.test(message)
const NODE_AWAY = new RegExp(
  `^(?:${[
    'failure on connection',
    'connection (?:to the remote|establishment for) node',
    'could not (?:commit transaction for shard|establish any connections to the node)',
    'failed to (?:prepare transaction|read result)',
    'cannot connect to .* to fetch intermediate results',
    'server closed the connection',
    'could not (?:receive data from|send data to) server',
    'SSL (?:connection has been closed|SYSCALL error)',
    'no connection to the server',
    'connection not open'
  ].join('|')})`
)

/**
 * Returns SQL that sets `plan_cache_mode`. On Citus the mode is `auto`, because Citus chooses nodes by a statement's
 * values and detects when a generic plan costs no more.
 */
export const setPlanning = (mode: string): string => `select set_config('plan_cache_mode',
  case when to_regclass('pg_catalog.pg_dist_partition') is null then '${mode}' else 'auto' end, false)`

/** Returns the tables whose rows are on other servers. */
export async function readElsewhere(sql: Sql): Promise<string[]> {
  const [engine] = await sql`select from pg_class where oid = to_regclass('pg_catalog.pg_dist_partition')`
  if (engine === undefined) return []
  const rows = await sql<{ name: string }[]>`
    select c.relname as name from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid::oid
    where p.partmethod = 'h' order by 1`
  return rows.map(({ name }) => name)
}
