/** Deletes sums by user, step and tag whose traces have changed. They are recomputed later (made-hours.ts). */
import type { Sql } from 'postgres'
import { inTransaction } from '../../transactions.ts'
import { dayOf, lockRollups } from '../rollups/deltas.ts'

/** Deletes the sums of the hours, and of their days. The caller must hold the lock on the project's rollups. */
export async function forgetUsage(sql: Sql, projectId: number, hours: readonly string[]): Promise<void> {
  await sql.unsafe(FORGET, [projectId, hours as string[]], { prepare: true })
}

const FORGET = `
  delete from usage_sums
  where project_id = $1::int and (
    (length = 'h' and start = any ($2::timestamptz[]))
    or (length = 'd' and start = any (array(select distinct ${dayOf('hour')} from unnest($2::timestamptz[]) as hour)))
  )`

/** Deletes all sums of a project, because the costs of steps may have changed without a delta. */
export async function forgetAllUsage(sql: Sql, projectId: number): Promise<void> {
  await inTransaction(sql, async () => {
    await lockRollups(sql, projectId)
    await sql`delete from usage_sums where project_id = ${projectId}`
  })
}

/** Deletes the sums of a day (UTC), and of its hours. The caller must hold the lock on the project's rollups. */
export async function forgetUsageOf(sql: Sql, projectId: number, day: string): Promise<void> {
  await sql`
    delete from usage_sums
    where project_id = ${projectId} and start >= ${day}::timestamptz and start < ${day}::timestamptz + interval '1 day'`
}
