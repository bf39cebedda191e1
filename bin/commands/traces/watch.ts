/** Follows a project's writes, and decides which written traces are new or have ended. */
import type { Asker } from '../../asking/asker.ts'
import { requestPath } from '../../asking/asker.ts'
import type { ShownSummary } from '../../terminal/columns.ts'

const CHANGES = '/api/v1/changes'
const CHANGES_PAGE = 500
/** Maximum number of traces that are remembered. */
const MOST_SEEN = 10_000

interface ChangePage<T> {
  readonly traces: readonly T[]
  readonly nextCursor: string
  readonly caughtUp: boolean
}

/** Reads the traces that were written since a cursor. */
export class Changes {
  readonly #asker: Asker
  #cursor: string

  private constructor(asker: Asker, cursor: string) {
    this.#asker = asker
    this.#cursor = cursor
  }

  /** Starts with writes made from now on. */
  static async sinceNow(asker: Asker): Promise<Changes> {
    const { nextCursor } = await ask(asker, 'now', 1)
    return new Changes(asker, nextCursor)
  }

  /** Yields the written traces, page by page, until there are no more. The next call continues from there. */
  async *read(): AsyncGenerator<readonly ShownSummary[]> {
    for (let isOver = false; !isOver; ) {
      const { traces, nextCursor, caughtUp } = await ask(this.#asker, this.#cursor, CHANGES_PAGE)
      isOver = caughtUp || nextCursor === this.#cursor
      yield traces
      // A page whose traces could not be shown is read again.
      this.#cursor = nextCursor
    }
  }
}

async function ask(asker: Asker, after: string, limit: number): Promise<ChangePage<ShownSummary>> {
  const { parseExact } = await import('../../../lib/trace/json/exact-json.ts')
  return parseExact(await asker.ask('GET', requestPath(CHANGES, { after, limit }))) as ChangePage<ShownSummary>
}

export class Watch {
  /** Status of each trace when it was last read, by id. The trace seen longest ago comes first. */
  readonly #seen = new Map<string, string>()
  /** When the newest of the first traces was recorded. A write does not make a trace recorded earlier new. */
  readonly #since: number

  constructor(first: readonly ShownSummary[]) {
    this.#since = Math.max(0, ...first.map(recordedMs))
    this.#note(first)
  }

  /** Returns the written traces that are new or have ended since they were last read. */
  changed(written: readonly ShownSummary[]): ShownSummary[] {
    const changed = written.filter(trace => {
      const before = this.#seen.get(trace.id)
      return before === undefined ? this.#isNew(trace) : before === 'running' && trace.status !== 'running'
    })
    this.#note(written)
    return changed
  }

  /** An unseen trace is new unless it was both recorded and ended before the first traces were listed. */
  #isNew(trace: ShownSummary): boolean {
    return trace.endedAt === null || recordedMs(trace) >= this.#since || Date.parse(trace.endedAt) >= this.#since
  }

  #note(traces: readonly ShownSummary[]): void {
    for (const { id, status } of traces) {
      this.#seen.delete(id)
      this.#seen.set(id, status)
    }
    for (const id of this.#seen.keys()) {
      if (this.#seen.size <= MOST_SEEN) break
      this.#seen.delete(id)
    }
  }
}

const recordedMs = ({ ingestedAt }: ShownSummary): number => (ingestedAt === null ? 0 : Date.parse(ingestedAt))
