/** Deletes all that tables have of a project. */
import type { ProjectTable } from '../database/tables.ts'

/** A statement that deletes the rows of the project $1 from these tables. */
export function emptying(tables: readonly ProjectTable[]): string {
  const steps = tables.map(table => `delete from ${table} where project_id = $1`)
  const before = steps.slice(0, -1).map((step, i) => `emptied_${i} as (${step})`)
  return `with ${before.join(', ')} ${steps.at(-1)}`
}
