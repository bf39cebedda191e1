/** Limits the number of requests that each party (project) has in flight. */
import { Refusal } from '../errors.ts'

/** Maximum number of requests per party: four times the 64 connections that a busy application uses. */
const MOST = 256

export class RequestsUnderWay {
  readonly #most: number
  /** Number of requests in flight, by party. Parties without requests have no entry. */
  readonly #counts = new Map<number, number>()
  #all = 0

  constructor(most = MOST) {
    this.#most = most
  }

  /** Total number of requests in flight. */
  get count(): number {
    return this.#all
  }

  /** Counts a request until `leave` is called. Throws `too_many_requests` if the party has too many. */
  enter(party: number): void {
    const count = this.#counts.get(party) ?? 0
    if (count >= this.#most) {
      const rule = `at most ${this.#most} reads can be in flight at once`
      throw new Refusal('too_many_requests', `This project has too many requests in flight: ${rule}. Retry later.`)
    }
    this.#counts.set(party, count + 1)
    this.#all++
  }

  leave(party: number): void {
    const count = this.#counts.get(party) ?? 0
    if (count <= 1) this.#counts.delete(party)
    else this.#counts.set(party, count - 1)
    this.#all--
  }
}
