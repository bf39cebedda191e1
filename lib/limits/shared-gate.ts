/**
 * Admits work from several parties (projects), each with a fixed share. A party that has used its share waits for its
 * own earlier work even if capacity is idle, so that other parties' work can start immediately. An optional capacity
 * limits all parties together; parties then take turns (fair-gate.ts).
 */
import { Refusal } from '../errors.ts'
import { FairGate } from './fair-gate.ts'

export interface GateBounds {
  /**
   * Maximum admitted weight of one party. Work heavier than this enters when none of the party's other work is
   * admitted.
   */
  readonly share: number
  /** Maximum admitted weight of all parties. */
  readonly capacity?: number
}

export interface GateVisit {
  /** Weight of the work; defaults to 1. */
  readonly weight?: number
  /** The client that waits for the work. If the client disconnects before the work starts, the work is skipped. */
  readonly client?: { readonly signal: AbortSignal } | undefined
}

interface Own {
  readonly gate: FairGate
  /** Number of waiting and admitted work items. */
  count: number
}

/**
 * Time that work waits before the gate watches for a disconnect. Watching requires an abort signal, which costs more to
 * create than most reads.
 */
const SHORT_WAIT_MS = 100

export class SharedGate {
  readonly #share: number
  readonly #all: FairGate
  /** Parties with waiting or admitted work. */
  readonly #parties = new Map<unknown, Own>()
  #count = 0
  #inside = 0

  constructor({ share, capacity = Number.POSITIVE_INFINITY }: GateBounds) {
    this.#share = share
    this.#all = new FairGate(capacity)
  }

  /** Number of waiting work items. */
  get waiting(): number {
    return this.#count - this.#inside
  }

  /** Runs the work when it is the party's turn. Rejects with `unavailable` if the client has disconnected by then. */
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

const clientLeft = () => new Refusal('unavailable', 'The client disconnected before its turn.')
