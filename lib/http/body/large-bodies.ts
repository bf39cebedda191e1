/**
 * Large bodies (LARGE_BODY_BYTES) are in memory few at a time, from when so much of one has come until its request is
 * answered. Otherwise a few clients would take all the room that there is for bodies. Projects take turns.
 */
import { FairGate } from '../../limits/fair-gate.ts'

/** Two, so that one that arrives slowly does not keep all others out. */
const MOST = 2

export class LargeBodies {
  readonly #gate = new FairGate(MOST)

  /** For one request of a project; undefined before it is known. */
  of(party: number | undefined): LargeBody {
    return new LargeBody(this.#gate, party)
  }
}

export class LargeBody {
  readonly #gate: FairGate
  readonly #party: number | undefined
  #entered: Promise<void> | undefined
  #isOver = false
  #isInside = false

  constructor(gate: FairGate, party: number | undefined) {
    this.#gate = gate
    this.#party = party
  }

  get isInside(): boolean {
    return this.#isInside
  }

  /** The body is a large one. Resolves when it is its turn. */
  enter(): Promise<void> {
    this.#entered ??= this.#gate.enter(this.#party).then(() => {
      this.#isInside = true
      if (this.#isOver) this.leave()
    })
    return this.#entered
  }

  /** The request is over, whether its turn has come or not. */
  leave(): void {
    this.#isOver = true
    if (!this.#isInside) return
    this.#isInside = false
    this.#gate.leave()
  }
}
