/** Handles Citus's statement planning and error messages, for a database spread over several servers (lib/cluster). */

/** Citus sent an intermediate result to a node that no longer holds the shard. */
export const INTERMEDIATE_RESULT_NOT_FOUND = 'CIINF'

/**
 * Detects that a shard was split after a statement was planned but before that statement was executed. The statement
 * had no effect.
 */
export const isReplaced = (message: string): boolean => message.startsWith('could not find valid entry for shard')

/**
 * Detects a unique violation on a worker. Citus appends the shard number to the constraint's name, and drops the error
 * code.
 */
export const isUniqueViolationElsewhere = (message: string): boolean => /"(?:\w+_pkey|traces_id)_\d+"/.test(message)

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
