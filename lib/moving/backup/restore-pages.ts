/**
 * Restores the pages of a project. A few pages are under way at a time: while later pages are written, each
 * page that is stored is read back, and must be the page of the backup.
 */
import { createHash } from 'node:crypto'
import { AdminError } from '../../admin-error.ts'
import type { Pool } from '../../database/pool.ts'
import { Refusal } from '../../errors.ts'
import type { WritePath } from '../../ingest/write-path.ts'
import { type CopiedTrace, isSameContent, type StoredPage } from '../../store/instance/stored-page.ts'
import { readPageOf } from '../../store/instance/stored-pages.ts'
import { exportPages } from '../export-project.ts'
import type { DecodedPage } from './decoded-lines.ts'

export interface PagedProject {
  readonly pool: Pool
  readonly path: Pick<WritePath, 'copy'>
  readonly projectId: number
  /** Called with the number of traces that a page has added. */
  readonly onStored: (traces: number) => void
}

/** Maximum number of pages that are being written or read back. A page has up to 4 MiB of documents. */
const MOST_UNDER_WAY = 4

export class PageRestore {
  readonly #project: PagedProject
  readonly #underWay = new Set<Promise<void>>()
  #reading: Promise<void> = Promise.resolve()
  #failure: { readonly error: unknown } | undefined

  constructor(project: PagedProject) {
    this.#project = project
  }

  /** Begins to restore a page, once few others are under way. Throws the first error of any page. */
  async take(page: DecodedPage): Promise<void> {
    while (this.#underWay.size >= MOST_UNDER_WAY) await Promise.race(this.#underWay)
    this.#throwFailure()
    const work = this.#restore(page)
      .catch(error => {
        this.#failure ??= { error }
      })
      .finally(() => this.#underWay.delete(work))
    this.#underWay.add(work)
  }

  /** Resolves when no page is under way. Never rejects. */
  async settle(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  async finish(): Promise<void> {
    await this.settle()
    this.#throwFailure()
  }

  /** Reads back traces that have lines of their own. `expected` is the SHA-256 of the lines. */
  async compareLines(ids: readonly string[], expected: Buffer): Promise<void> {
    const { pool, projectId } = this.#project
    const found = createHash('sha256')
    const work = this.#reading.then(() =>
      pool.run(async sql => {
        for await (const { lines } of exportPages(sql, projectId, { ids })) found.update(lines)
      })
    )
    this.#reading = work.catch(() => {})
    await work
    if (!found.digest().equals(expected)) throw new DifferentTraces()
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }

  async #restore({ page, traces }: DecodedPage): Promise<void> {
    await this.#write(traces)
    this.#project.onStored(traces.length)
    const ids = traces.map(({ traceId }) => traceId)
    // One page at a time is read back, because only one connection is free.
    const compared = this.#reading.then(() => this.#compare(page, ids))
    this.#reading = compared.catch(() => {})
    await compared
  }

  async #write(traces: readonly CopiedTrace[]): Promise<void> {
    const { path, projectId } = this.#project
    const written = await Promise.allSettled(
      traces.map(trace => path.copy(projectId, trace).catch(error => throwProblem(trace.traceId, error)))
    )
    const failed = written.find(({ status }) => status === 'rejected')
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason
  }

  async #compare(page: StoredPage, ids: readonly string[]): Promise<void> {
    const { pool, projectId } = this.#project
    const found = await pool.run(sql => readPageOf(sql, projectId, ids))
    const isSame = (['traces', 'spans', 'scores'] as const).every(table => page[table].equals(found[table]))
    if (!isSame && !isSameContent(page, found)) throw new DifferentTraces()
  }
}

/** Thrown if the traces that were read back are not those of the backup. */
export class DifferentTraces extends Error {
  override readonly name = 'DifferentTraces'
}

/**
 * Throws an error that names the trace, if the error concerns only that trace. A trace that is stored already, as after
 * an interrupted restore, is no problem: the page is compared with what is stored.
 */
function throwProblem(traceId: string, error: unknown): void {
  const isRefused = error instanceof Refusal && error.code !== 'quota_exhausted'
  if (isRefused && error.code === 'trace_id_conflict') return
  const isRejected = error instanceof Error && error.name === 'PostgresError'
  if (!isRefused && !isRejected) throw error
  throw new AdminError(`trace ${traceId} of the backup cannot be restored: ${error.message}`)
}
