/** Deletes a project's rows from several tables. */
import type { ProjectTable } from '../database/tables.ts'

/** Returns a statement that deletes the rows of project $1 from these tables. */
export function emptying(tables: readonly ProjectTable[]): string {
  const steps = tables.map(table => `delete from ${table} where project_id = $1`)
  const before = steps.slice(0, -1).map((step, i) => `emptied_${i} as (${step})`)
  return `with ${before.join(', ')} ${steps.at(-1)}`
}
