/**
 * Sums each user's traces by day and environment. The transaction that folds rows of rollup_news into rollups also adds
 * those rows to the users' sums. A project can have as many users as traces, so users' sums do not pass through
 * Node.js. One statement adds the sums to a table that has a single index and stores no latencies
 * (test/bench/RESULTS.md, "Users").
 */
import type { Sql } from 'postgres'
import { AMOUNTS } from '../../../rollups/amounts.ts'
import { hashInSql } from '../../../rows/list-numbers.ts'
import { dayOf, environmentKeyInSql } from './deltas.ts'

const USER_AMOUNTS = AMOUNTS.filter(name => name !== 'latency')

/** Returns SQL for the list number under which a user's sums in an environment are stored. */
export const userListInSql = (user: string, environment: string): string =>
  hashInSql(user, environmentKeyInSql(environment))

/**
 * Adds to the users' sums the rows of rollup_news that are being folded. `rowIds` contains the rows' ctids, as a
 * PostgreSQL array string.
 */
export async function foldUsers(sql: Sql, projectId: number, rowIds: string): Promise<void> {
  await sql.unsafe(ADD_USERS, [projectId, rowIds], { prepare: true })
}

/**
 * Adds folded rows to the users' sums. Takes each row's project from rollup_news, not from $1, so that the project's
 * server runs the entire statement (test/fixtures/statements/lint.ts).
 */
const ADD_USERS = `
  insert into user_sums as u (project_id, list, start, ${USER_AMOUNTS.join(', ')})
  select n.project_id, ${userListInSql('n.user_id', 'f.environment')}, ${dayOf('n.started_at')},
    ${USER_AMOUNTS.map(name => `sum(n.${name})`).join(', ')}
  from rollup_news n left join trace_families f
    on f.project_id = $1::int and f.project_id = n.project_id and f.family = n.family
  where n.project_id = $1::int and n.ctid = any ($2::text::tid[]) and n.user_id is not null
  group by 1, 2, 3
  on conflict (project_id, list, start) do update
    set ${USER_AMOUNTS.map(name => `${name} = u.${name} + excluded.${name}`).join(', ')}`

/** Deletes all users' sums for a day. The index starts with the user, so all of the project's sums are scanned. */
export async function forgetUsersOf(sql: Sql, projectId: number, day: string): Promise<void> {
  await sql`delete from user_sums where project_id = ${projectId} and start = ${day}`
}
