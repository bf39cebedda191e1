/** Finds the traces that were written since a cursor of `GET /api/v1/changes`, for `spoor export --since`. */
import type { Sql } from 'postgres'
import { AdminError } from '../admin-error.ts'
import { isReadOnlyRefusal } from '../database/failure.ts'
import { IDS_IN_SQL, readChanges, readLastPlace } from '../store/changes/changes.ts'
import { foldChanges, MOST_NEWS } from '../store/changes/fold.ts'
import type { Position } from '../store/changes/position.ts'

/** Number of traces that are looked up at a time, and of ids that are remembered: about 100 MB. */
const BOUNDS = { atOnce: 250, remembered: 1_000_000 }

export interface ChangedTraces {
  readonly ids: readonly string[]
  /** Position after these traces. */
  readonly next: Position
}

/**
 * Yields the traces that were written after a position, or all stored traces, in the order of changes, up to the last
 * write that was committed when the first page is requested. The caller reads each trace after it is yielded, and
 * therefore sees all of these writes at once. A trace is therefore yielded once, unless so many traces have changed
 * that not all of their ids are remembered.
 */
export async function* changedTraces(
  sql: Sql,
  projectId: number,
  after: Position | undefined,
  { atOnce, remembered } = BOUNDS
): AsyncGenerator<ChangedTraces, void> {
  await foldAll(sql, projectId)
  const to = await readLastPlace(sql, projectId)
  const known = new Set<string>()
  for (let position = after, goesOn = true; goesOn; ) {
    const page = await readChanges(sql, { projectId, after: position, limit: atOnce, text: IDS_IN_SQL, to })
    if ('expired' in page) throw new AdminError(`${page.expired} (--since start)`)
    const ids = (page.text ?? '').split(',').filter(id => id !== '' && !known.has(id))
    yield { ids, next: page.next }
    if (known.size > remembered) known.clear()
    for (const id of ids) known.add(id)
    position = page.next
    goesOn = page.hasMore
  }
}

/** Gives committed writes their places, unless the database accepts no writes. */
async function foldAll(sql: Sql, projectId: number): Promise<void> {
  try {
    while ((await foldChanges(sql, projectId)) >= MOST_NEWS);
  } catch (error) {
    if (!isReadOnlyRefusal(error)) throw error
  }
}
