/** Counts stored and lost traces, and reports each kind of problem at most once a minute. */
/** Totals and problems since the client was created. */
export interface Flushed {
  /** Number of traces that the service has confirmed as stored. */
  readonly sent: number
  /** Number of traces still waiting, in memory or on disk. */
  readonly kept: number
  /** The last 1,000 traces, or parts of traces, that will never be stored. */
  readonly lost: readonly Loss[]
  readonly lostCount: number
  /** The last 100 problems other than losses. */
  readonly problems: readonly string[]
}

export interface Loss {
  readonly traceId: string
  readonly name: string
  readonly reason: string
}

const MOST_LOSSES = 1000
const MOST_PROBLEMS = 100
const QUIET_MS = 60_000
/** Problems that differ only in ids and numbers are of the same kind. */
const DETAIL = /[0-9a-f]{16,}|\d+/g

export class Outcome {
  readonly #onProblem: (problem: string) => void
  #sent = 0
  #lostCount = 0
  #lost: Loss[] = []
  #problems: string[] = []
  readonly #said = new Map<string, number>()
  /** Recently stored traces. A trace sent in several independent requests counts once. */
  readonly #recent = new Set<string>()

  constructor(onProblem: (problem: string) => void) {
    this.#onProblem = onProblem
  }

  stored(traceId: string): void {
    if (this.#recent.has(traceId)) return
    this.#sent++
    this.#recent.add(traceId)
    if (this.#recent.size > MOST_LOSSES) this.#recent.delete(this.#recent.keys().next().value!)
  }

  lose(loss: Loss): void {
    this.#lostCount++
    this.#lost = [...this.#lost.slice(1 - MOST_LOSSES), loss]
    const what = loss.reason.startsWith('score: ') ? 'score of trace' : 'trace'
    this.#say(`lost ${what} ${loss.traceId} (${loss.name}): ${loss.reason}`, `lost ${loss.reason}`)
  }

  problem(text: string): void {
    if (this.#problems.at(-1) !== text) this.#problems = [...this.#problems.slice(1 - MOST_PROBLEMS), text]
    this.#say(text, text)
  }

  state(): Omit<Flushed, 'kept'> {
    return { sent: this.#sent, lost: this.#lost, lostCount: this.#lostCount, problems: this.#problems }
  }

  #say(text: string, kind: string): void {
    const key = kind.replaceAll(DETAIL, '#')
    const now = performance.now()
    if (now - (this.#said.get(key) ?? Number.NEGATIVE_INFINITY) < QUIET_MS) return
    if (this.#said.size > MOST_PROBLEMS) this.#said.clear()
    this.#said.set(key, now)
    try {
      this.#onProblem(text)
    } catch {
      // A callback that throws must not cause another problem.
    }
  }
}
