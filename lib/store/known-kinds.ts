/**
 * The kinds of traces that are in trace_kinds for sure, with their numbers: PostgreSQL makes them, and they are remembered
 * when it has committed them. They are never taken away there. A trace of a kind that is not known is read back after it
 * was copied, which costs 50 us of PostgreSQL's CPU where the rest of a small trace takes 140.
 */

/** What makes a trace's kind beside its project and environment. */
interface Kind {
  readonly status: string
  readonly model: string | null
  readonly name: string
}

/** No part of it holds U+0000. */
export const kindText = ({ status, model, name }: Kind): string => `${status}\0${model ?? ''}\0${name}`

/** Whose kind it is. */
export interface Kindred {
  readonly projectId: number
  readonly environment: string | null
  readonly rows: { readonly kind: string }
}

/** Where every trace has a name of its own, the oldest make room. */
const MOST = 10_000
const KIND_BYTES = 8

export class KnownKinds {
  readonly #kinds = new Map<string, Uint8Array>()

  /** traces.kind, big-endian. */
  find(trace: Kindred): Uint8Array | undefined {
    return this.#kinds.get(keyOf(trace))
  }

  /** `kind`: as PostgreSQL writes the number. */
  learn(trace: Kindred, kind: string): void {
    const bytes = Buffer.alloc(KIND_BYTES)
    bytes.writeBigInt64BE(BigInt(kind))
    if (this.#kinds.size >= MOST) this.#kinds.delete(this.#kinds.keys().next().value as string)
    this.#kinds.set(keyOf(trace), bytes)
  }
}

const keyOf = ({ projectId, environment, rows }: Kindred): string => `${projectId}\0${environment ?? ''}\0${rows.kind}`
