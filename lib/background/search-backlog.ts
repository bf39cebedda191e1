/**
 * Tracks how long writes wait to be indexed. Writes have no timestamps, so each project's last waiting write is marked
 * with the current time. Until that write is indexed, the mark is a lower bound for its waiting time. Then the last
 * waiting write at that moment is marked.
 */
import type { ProjectBacklog, WaitingWords } from '../store/search/backlog.ts'

interface Mark extends WaitingWords {
  /** In milliseconds from performance.now(). */
  readonly since: number
}

export class Backlog {
  /** Number of waiting writes of all projects; undefined until the first check. */
  readonly waiting: number | undefined
  /** Marks by project id. */
  readonly marks: ReadonlyMap<number, Mark>

  constructor(waiting?: number, marks: ReadonlyMap<number, Mark> = new Map()) {
    this.waiting = waiting
    this.marks = marks
  }

  /** Returns a lower bound for the age of the oldest waiting write. */
  ageMs(now: number): number {
    return Math.max(0, ...[...this.marks.values()].map(({ since }) => now - since))
  }

  /** Returns the backlog updated with the result of a check. */
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
