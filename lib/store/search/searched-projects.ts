/**
 * Remembers which projects have search turned on, so that a batch adds rows to search_news only for traces of these
 * projects. The list is at most REMEMBERED_MS old. Traces from before search was turned on are therefore read only
 * after a longer delay (SETTLE_MS in lib/store/search/state.ts).
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

export async function readSearched(sql: Sql): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`select id from projects where search order by id`
  return rows.map(({ id }) => id)
}
