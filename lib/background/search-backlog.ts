/**
 * How long writes wait to be indexed. They have no time of their own. So the last write that waits is marked, with the
 * time, and the mark stays while that write waits: it has waited at least since then. Once it is indexed, the last
 * write of that moment is marked.
 */
import type { ProjectBacklog, WaitingWords } from '../store/search/backlog.ts'

interface Mark extends WaitingWords {
  /** In ms of performance.now(). */
  readonly since: number
}

export class Backlog {
  /** How many writes wait, of all projects; undefined until somebody has looked. */
  readonly waiting: number | undefined
  /** By project. */
  readonly marks: ReadonlyMap<number, Mark>

  constructor(waiting?: number, marks: ReadonlyMap<number, Mark> = new Map()) {
    this.waiting = waiting
    this.marks = marks
  }

  /** How long the oldest write has waited at least. */
  ageMs(now: number): number {
    return Math.max(0, ...[...this.marks.values()].map(({ since }) => now - since))
  }

  /** The backlog after a look that found this. */
  next(seen: readonly ProjectBacklog[], now: number): Backlog {
    const marks = seen.flatMap(({ projectId, last, hasMark }): [number, Mark][] => {
      const mark = this.marks.get(projectId)
      if (hasMark && mark !== undefined) return [[projectId, mark]]
      return last === undefined ? [] : [[projectId, { ...last, since: now }]]
    })
    return new Backlog(
      seen.reduce((sum, { waiting }) => sum + waiting, 0),
      new Map(marks)
    )
  }
}
