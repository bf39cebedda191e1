/** Stores the definitions of the scores that people give in a project. */
import type { Sql } from 'postgres'
import type { ScoreDefinition } from '../../schema/score-definition.ts'
import { type AuditEntry, auditStep } from '../audit.ts'

/** Maximum number of definitions per project. */
export const MOST_DEFINITIONS = 50

const columns = (sql: Sql) => sql`name, data_type as "dataType", minimum, maximum, categories, description`

/** Returns the definitions in the order in which they were created. */
export async function readScoreDefinitions(sql: Sql, projectId: number): Promise<ScoreDefinition[]> {
  return sql<ScoreDefinition[]>`
    select ${columns(sql)} from score_definitions where project_id = ${projectId} order by created_at, name`
}

/**
 * Stores a definition, replacing one of the same name. Returns undefined if the project has the maximum number of
 * definitions. Concurrent requests may exceed the maximum slightly.
 */
export async function storeDefinition(
  sql: Sql,
  projectId: number,
  { name, dataType, minimum, maximum, categories, description }: ScoreDefinition,
  audit: AuditEntry
): Promise<ScoreDefinition | undefined> {
  const [row] = await sql<ScoreDefinition[]>`
    with stored as (
      insert into score_definitions (project_id, name, data_type, minimum, maximum, categories, description)
      select ${projectId}::int, ${name}::text, ${dataType}::text, ${minimum}::float8, ${maximum}::float8,
        ${categories}::text[], ${description}::text
      where (select count(*) from score_definitions where project_id = ${projectId} and name <> ${name})
        < ${MOST_DEFINITIONS}
      on conflict (project_id, name) do update
        set data_type = excluded.data_type, minimum = excluded.minimum, maximum = excluded.maximum,
          categories = excluded.categories, description = excluded.description
      returning *
    )
    ${auditStep(sql, audit, sql`stored`)}
    select ${columns(sql)} from stored`
  return row
}

/** Deletes a definition. Scores of its name are unchanged. Returns whether the definition existed. */
export async function deleteDefinition(sql: Sql, projectId: number, name: string, audit: AuditEntry): Promise<boolean> {
  const gone = await sql`
    with gone as (delete from score_definitions where project_id = ${projectId} and name = ${name} returning *)
    ${auditStep(sql, audit)}
    select from gone`
  return gone.count > 0
}
