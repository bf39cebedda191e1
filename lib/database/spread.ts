/** Citus's statement planning and error messages, for a database spread over several servers (lib/cluster). */

/** Citus sent an intermediate result to a node that no longer holds the shard. */
export const INTERMEDIATE_RESULT_NOT_FOUND = 'CIINF'

/**
 * Returns whether a shard was split between the planning and execution of a statement, which therefore had no effect.
 */
export const isReplaced = (message: string): boolean => message.startsWith('could not find valid entry for shard')

/**
 * Citus passes on a worker's message, including the constraint name with a shard number appended, but drops the error
 * code.
 */
export const isUniqueViolationElsewhere = (message: string): boolean => /"(?:\w+_pkey|traces_id)_\d+"/.test(message)

/**
 * Returns whether a coordinator lost its connection to a worker. Citus usually reports this as an error code, except
 * during a commit or if libpq finds the connection closed, when Citus passes on libpq's message.
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
 * Returns SQL that sets `plan_cache_mode`. Citus chooses the node by a statement's values, so on Citus `auto` lets the
 * planner choose a generic plan only if it costs no more.
 */
export const setPlanning = (mode: string): string => `select set_config('plan_cache_mode',
  case when to_regclass('pg_catalog.pg_dist_partition') is null then '${mode}' else 'auto' end, false)`
