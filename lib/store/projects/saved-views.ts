/**
 * A saved view is a named page of a project, with its filters. A view belongs to one user or is shared with the whole
 * project.
 */
import type { Sql } from 'postgres'
import { ifUnique } from '../../database/failure.ts'

/** Maximum number of a user's own views in a project, and maximum number of shared views in a project. */
export const MOST_VIEWS = 100

export interface View {
  readonly name: string
  readonly page: string
  /** The page's query string: empty, or starting with `?`. */
  readonly query: string
  readonly shared: boolean
}

export interface ViewRow extends View {
  readonly id: number
}

/** Selects a user's own views in a project, and the project's shared views. */
export interface Viewer {
  readonly projectId: number
  readonly userId: number
}

export type ViewChange = ViewRow | 'taken' | 'full' | undefined

const rowOf = (sql: Sql) => sql`id, name, page, query, user_id is null as shared`

const seenBy = (sql: Sql, { projectId, userId }: Viewer) =>
  sql`project_id = ${projectId} and (user_id = ${userId} or user_id is null)`

/** Returns the user's views and the shared views, sorted by name. */
export async function listViews(sql: Sql, viewer: Viewer): Promise<ViewRow[]> {
  return sql<ViewRow[]>`
    select ${rowOf(sql)} from saved_views where ${seenBy(sql, viewer)} order by lower(name), name, user_id is null, id`
}

export async function readView(sql: Sql, viewer: Viewer, id: number): Promise<ViewRow | undefined> {
  const [row] = await sql<ViewRow[]>`select ${rowOf(sql)} from saved_views where id = ${id} and ${seenBy(sql, viewer)}`
  return row
}

/**
 * Stores a view. Returns `full` instead if the maximum number of views is reached. Concurrent inserts may exceed the
 * maximum slightly.
 */
export async function insertView(sql: Sql, viewer: Viewer, { name, page, query, shared }: View): Promise<ViewChange> {
  return ifUnique(async () => {
    const [row] = await sql<ViewRow[]>`
      insert into saved_views (project_id, user_id, name, page, query)
      select ${viewer.projectId}, ${ownerOf(viewer, shared)}::int, ${name}, ${page}, ${query}
      where (${countOf(sql, viewer, shared)}) < ${MOST_VIEWS}
      returning ${rowOf(sql)}`
    return row ?? 'full'
  }, 'taken')
}

/** Changes a view, which may also become shared or private. Returns undefined if the view no longer exists. */
export async function updateView(sql: Sql, viewer: Viewer, id: number, view: View): Promise<ViewChange> {
  const { name, page, query, shared } = view
  return ifUnique(async () => {
    const [row] = await sql<(ViewRow & { changed: boolean })[]>`
      with own as (
        select id, user_id is null as was_shared from saved_views where id = ${id} and ${seenBy(sql, viewer)}
      ), changed as (
        update saved_views v
        set name = ${name}, page = ${page}, query = ${query}, user_id = ${ownerOf(viewer, shared)}::int
        from own
        where v.id = own.id and (own.was_shared = ${shared} or (${countOf(sql, viewer, shared)}) < ${MOST_VIEWS})
        returning v.id, v.name, v.page, v.query, v.user_id is null as shared
      )
      select c.*, c.id is not null as changed from own left join changed c on c.id = own.id`
    if (row === undefined) return undefined
    const { changed, ...now } = row
    return changed ? now : 'full'
  }, 'taken')
}

export async function deleteView(sql: Sql, viewer: Viewer, id: number): Promise<boolean> {
  const gone = await sql`delete from saved_views where id = ${id} and ${seenBy(sql, viewer)}`
  return gone.count > 0
}

const ownerOf = ({ userId }: Viewer, shared: boolean) => (shared ? null : userId)

const countOf = (sql: Sql, { projectId, userId }: Viewer, shared: boolean) =>
  sql`select count(*) from saved_views where project_id = ${projectId} and user_id ${shared ? sql`is null` : sql`= ${userId}`}`
