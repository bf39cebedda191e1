/**
 * Admits work of several parties (projects), each of which has a share. A party that brings more than its share waits
 * for its own work, however idle the rest is. So work of another party finds room at once. With a capacity, all parties
 * together have no more than that inside, and enter in turn (fair-gate.ts).
 */
import { Refusal } from '../errors.ts'
import { FairGate } from './fair-gate.ts'

export interface GateBounds {
  /** The weight that one party may have inside. Heavier work enters once the party has nothing else inside. */
  readonly share: number
  /** The weight that all parties may have inside. */
  readonly capacity?: number
}

export interface GateVisit {
  /** 1 if it is left out. */
  readonly weight?: number
  /** The client that waits for the work. If it leaves before its turn comes, the work is not done. */
  readonly client?: { readonly signal: AbortSignal } | undefined
}

interface Own {
  readonly gate: FairGate
  /** The work that waits or is inside. */
  count: number
}

/** Shorter waits are not checked for a client that left: to make the signal of a request costs more than most reads. */
const SHORT_WAIT_MS = 100

export class SharedGate {
  readonly #share: number
  readonly #all: FairGate
  /** Only parties with work that waits or is inside. */
  readonly #parties = new Map<unknown, Own>()
  #count = 0
  #inside = 0

  constructor({ share, capacity = Number.POSITIVE_INFINITY }: GateBounds) {
    this.#share = share
    this.#all = new FairGate(capacity)
  }

  /** How much work waits for its turn. */
  get waiting(): number {
    return this.#count - this.#inside
  }

  /** Does the work when it is its party's turn. Rejects with `unavailable` if the client has left by then. */
  async run<T>(party: unknown, work: () => Promise<T>, { weight = 1, client }: GateVisit = {}): Promise<T> {
    const own = this.#parties.get(party) ?? { gate: new FairGate(this.#share), count: 0 }
    this.#parties.set(party, own)
    own.count++
    this.#count++
    const began = performance.now()
    try {
      await own.gate.enter(party, weight)
      try {
        await this.#all.enter(party, weight)
        this.#inside++
        try {
          if (performance.now() - began > SHORT_WAIT_MS && client?.signal.aborted) throw clientLeft()
          return await work()
        } finally {
          this.#inside--
          this.#all.leave(weight)
        }
      } finally {
        own.gate.leave(weight)
      }
    } finally {
      this.#count--
      if (--own.count === 0) this.#parties.delete(party)
    }
  }
}

const clientLeft = () => new Refusal('unavailable', 'The client left before its turn came.')
