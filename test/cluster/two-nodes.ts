/**
 * Runs transactions that span several nodes while processes are killed.
 *
 * - Counters: a statement on all nodes, which Citus commits in two phases. Each project of a series has a counter, and
 *   the counters are equal. The server runs no such statement, but a migration may.
 * - Deletions of projects: the project's row is on the coordinator, and its data is on a worker. Citus commits on the
 *   worker first, because it does not treat the coordinator's part as distributed. If the coordinator ends between the
 *   two commits, the project still exists without its data and can be deleted again. The reverse cannot happen.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { createProject } from '../../lib/admin/projects.ts'
import type { SocketTarget } from '../../lib/database/connection.ts'
import { Pool } from '../../lib/database/pool.ts'
import { deleteProject } from '../../lib/store/projects/projects.ts'
import { databaseAt } from '../fixtures/database/database.ts'
import type { PlacedProject } from './projects.ts'

/** The counters are floors of rankings for lists that contain no trace, one list for each series. */
const LISTS = [1, 2, 3]
/** The totals of a project that will be deleted, in a slot that no server uses. */
const PASSING_SLOT = 99
const PAUSE_MS = 100

export class TwoNodes {
  readonly counts = { counted: 0, deleted: 0, failed: 0 }
  readonly #projects: readonly PlacedProject[]
  readonly #pool: Pool
  readonly #loops: Promise<void>[]
  #isOver = false

  constructor(target: SocketTarget, projects: readonly PlacedProject[]) {
    const database = databaseAt(target)
    this.#projects = projects
    this.#pool = new Pool(onClose => database.connect({ onClose }), { size: LISTS.length + 1 })
    this.#loops = [
      ...LISTS.map(list => this.#count(list)),
      this.#repeat(async sql => {
        const slug = `passing-${this.counts.deleted + this.counts.failed}`
        const id = Number((await createProject(sql, 1e12, { name: slug, slug })).id)
        await sql`
          insert into project_totals (project_id, slot, traces, spans, bytes) values (${id}, ${PASSING_SLOT}, 0, 0, 0)`
        await deleteProject(sql, id, { by: null, action: 'project.delete' })
        this.counts.deleted++
      })
    ]
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#loops)
  }

  /** Returns the counters that differ, and the rows that remain of deleted projects. Must be called last. */
  async faults(): Promise<string[]> {
    const faults = await this.#pool.run(async sql => {
      const uneven = await sql<{ list: string; counts: string }[]>`
        select list::text, array_agg(distinct duration_ms)::text as counts from ranking_floors
        where list = any (${LISTS}::bigint[]) group by list having min(duration_ms) <> max(duration_ms)`
      const projects = new Set((await sql<{ id: number }[]>`select id from projects`).map(({ id }) => id))
      const under = await sql<
        { id: number }[]
      >`select project_id as id from project_totals where slot = ${PASSING_SLOT}`
      await sql`delete from project_totals where slot = ${PASSING_SLOT}`
      return [
        ...uneven.map(({ list, counts }) => `the counters of series ${list} are ${counts}`),
        ...under.filter(({ id }) => !projects.has(id)).map(({ id }) => `project ${id} is gone, its totals are not`)
      ]
    })
    await this.#pool.end()
    return faults
  }

  async #count(list: number): Promise<void> {
    for (const { id } of this.#projects)
      await this.#pool.run(
        sql => sql`insert into ranking_floors (project_id, list, duration_ms) values (${id}, ${list}, 0)`
      )
    await this.#repeat(async sql => {
      await sql`update ranking_floors set duration_ms = duration_ms + 1 where list = ${list}`
      this.counts.counted++
    })
  }

  async #repeat(work: (sql: Sql) => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      try {
        await this.#pool.run(work)
      } catch {
        // Any kill may make the attempt fail. The test only requires that nothing is half done.
        this.counts.failed++
        await delay(PAUSE_MS)
      }
    }
  }
}
