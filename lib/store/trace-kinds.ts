/** Kinds of traces: what filters by status, environment, model and name together mean, as the numbers in traces.kind. */
import type { Sql } from 'postgres'

/** Exact, and combined with AND. */
export interface KindFilters {
  readonly status?: string | undefined
  /** In lower case; 'unassigned' is what keys without an environment stamp. */
  readonly environment?: string | undefined
  readonly model?: string | undefined
  readonly name?: string | undefined
}
export const KIND_FILTERS = ['status', 'environment', 'model', 'name'] as const

/**
 * Those of a project's kinds that fit, as the text of an array; undefined: they are more than `most`, and looking at each
 * of them would take longer than passing over traces.
 */
export async function findKinds(
  sql: Sql,
  projectId: number,
  filters: KindFilters,
  most: number
): Promise<string | undefined> {
  const values: (string | number)[] = [projectId]
  const conditions = KIND_FILTERS.flatMap(name => {
    const value = filters[name]
    return value === undefined ? [] : [`and ${name} = $${values.push(value)}`]
  })
  const [row] = await sql.unsafe<[{ readonly kinds: string; readonly count: number }]>(
    `select coalesce(array_agg(kind), '{}')::text as kinds, count(*) as count
    from (select kind from trace_kinds where project_id = $1 ${conditions.join(' ')} limit ${most + 1}) found`,
    values,
    { prepare: true }
  )
  return row.count > most ? undefined : row.kinds
}
