/** Creates a database's first project at the first start. */
import type { Sql } from 'postgres'
import { isUniqueViolation } from '../../database/failure.ts'
import { SCOPES } from '../../schema/scopes.ts'

export async function hasProjects(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ has: boolean }]>`select exists (select from projects) as has`
  return row.has
}

/**
 * Creates the project `default`, an owner account if there is none, and a key with every scope, in one statement.
 * Returns the project's id; undefined if any project exists. If two processes start at the same time, the slower
 * statement fails as a whole because the slug is taken.
 */
export async function insertFirstProject(
  sql: Sql,
  key: { readonly id: string; readonly digest: Buffer }
): Promise<number | undefined> {
  try {
    const [row] = await sql<{ projectId: number }[]>`
      with empty as (
        select 1 where not exists (select from projects)
      ), found as (
        select id from accounts where type = 'owner' order by id limit 1
      ), made as (
        insert into accounts (name) select 'owner' from empty where not exists (select from found) returning id
      ), project as (
        insert into projects (account_id, name, slug)
        select owner.id, 'Default', 'default' from empty, (select id from found union all select id from made) owner
        returning id
      )
      insert into api_keys (id, digest, project_id, label, scopes)
      select ${key.id}, ${key.digest}::bytea, id, 'first start', ${[...SCOPES]}::text[] from project
      returning project_id as "projectId"`
    return row?.projectId
  } catch (error) {
    if (isUniqueViolation(error)) return undefined
    throw error
  }
}
