/** Reads the values that the dashboard's filters offer. */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'

/** Number of newest traces, and of newest scores, that are searched for names. */
const LOOKED_AT = 1000
const SCORES_LOOKED_AT = 3000
/** Maximum number of values per filter, and of categories per score name. */
const MOST = 200
const MOST_CATEGORIES = 20

export interface Facets {
  readonly statuses: readonly string[]
  readonly models: readonly string[]
  readonly environments: readonly string[]
  readonly names: readonly string[]
}

/**
 * Reads the statuses, models and environments of the project's families. Some of these values may no longer occur in
 * any trace. Also reads the names of the project's newest traces, most frequent first.
 */
export async function readFacets(sql: Sql, projectId: number, names: TableNames = SCHEMA_NAMES): Promise<Facets> {
  const [traces, families] = [sql.unsafe(names.traces), sql.unsafe(names.trace_families)]
  const distinct = (column: 'status' | 'model' | 'environment') => sql`array(
    select distinct ${sql(column)} from ${families} where project_id = ${projectId} and ${sql(column)} is not null
    order by 1 limit ${MOST})`
  const [row] = await sql<[Facets]>`
    select ${distinct('status')} as statuses, ${distinct('model')} as models,
      ${distinct('environment')} as environments,
      array(
        select name from (
          select name from ${traces} where project_id = ${projectId} order by started_at desc, id desc limit ${LOOKED_AT}
        ) newest group by name order by count(*) desc, name limit ${MOST}
      ) as names`
  return row
}

export interface ScoreNameFacet {
  readonly name: string
  readonly dataType: string
  /** Occurrences among the newest scores. */
  readonly count: number
  /** Values of a categorical score, most frequent first; empty for other types. */
  readonly categories: readonly string[]
}

/** Reads the names of the project's newest scores, most frequent first. */
export async function readScoreNames(sql: Sql, projectId: number, names: TableNames = SCHEMA_NAMES) {
  return sql<ScoreNameFacet[]>`
    with newest as materialized (
      select name, data_type, value #>> '{}' as value from ${sql.unsafe(names.scores)} where project_id = ${projectId}
      order by created_at desc, seq desc limit ${SCORES_LOOKED_AT}
    )
    select name, data_type as "dataType", count(*)::int as count, array(
      select v.value from newest v where v.name = n.name and v.data_type = n.data_type and v.data_type = 'categorical'
      group by v.value order by count(*) desc, v.value limit ${MOST_CATEGORIES}
    ) as categories
    from newest n group by name, data_type order by count desc, name, data_type limit ${MOST}`
}
