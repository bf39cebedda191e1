/** How Citus plans statements and words its errors, where a database is spread over several servers (lib/cluster). */

/** Citus sent the result of one step of a statement to a node that the shard has since left. */
export const INTERMEDIATE_RESULT_NOT_FOUND = 'CIINF'

/** A shard was split between the plan of a statement and its execution, which has done nothing. */
export const isReplaced = (message: string): boolean => message.startsWith('could not find valid entry for shard')

/** Citus passes a worker's words on, and the constraint with the number of the shard, but not the code. */
export const isUniqueViolationElsewhere = (message: string): boolean => /"(?:\w+_pkey|traces_id)_\d+"/.test(message)

/**
 * A coordinator has lost the connection to a worker. Most of the time it says so by a code, but not in a commit, and
 * not where libpq finds the connection closed, whose words it passes on.
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
 * SQL that sets `plan_cache_mode`. Citus finds out which node to ask by the values of a statement, so there a plan for
 * all values is made only where it costs no more, which Citus knows (`auto`).
 */
export const setPlanning = (mode: string): string => `select set_config('plan_cache_mode',
  case when to_regclass('pg_catalog.pg_dist_partition') is null then '${mode}' else 'auto' end, false)`
