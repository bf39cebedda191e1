/**
 * Remembers which projects are searched, so that a batch writes news of their traces and of no others. What is remembered is
 * as old as REMEMBERED_MS at most; whoever turns search on waits for longer before the traces of before are looked at.
 */
import type { Sql } from 'postgres'

const REMEMBERED_MS = 5000

export class SearchedProjects {
  #ids: ReadonlySet<number> = new Set()
  #until = Number.NEGATIVE_INFINITY

  get isStale(): boolean {
    return performance.now() >= this.#until
  }

  async read(sql: Sql): Promise<void> {
    const until = performance.now() + REMEMBERED_MS
    this.#ids = new Set(await readSearched(sql))
    this.#until = until
  }

  has(projectId: number): boolean {
    return this.#ids.has(projectId)
  }
}

/** The projects that are searched. */
export async function readSearched(sql: Sql): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`select id from projects where search order by id`
  return rows.map(({ id }) => id)
}
