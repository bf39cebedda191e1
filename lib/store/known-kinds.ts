/**
 * The kinds of traces whose families are in trace_families for sure, with their numbers: PostgreSQL makes them, and they
 * are remembered when it has committed them. They are never taken away there. A trace of a kind that is not known is read
 * back after it was copied, which costs 50 us of PostgreSQL's CPU where the rest of a small trace takes 140.
 */

/** What makes a trace's kind beside its project and environment. */
interface Kind {
  readonly status: string
  readonly model: string | null
  readonly name: string
}

/** No part of it holds U+0000. */
export const kindText = ({ status, model, name }: Kind): string => `${status}\0${model ?? ''}\0${name}`

/** The numbers of a kind and of its family, as PostgreSQL writes them. */
interface Numbers {
  readonly kind: string
  readonly family: string
}

/** The same, big-endian. */
export interface KindBytes {
  readonly kind: Uint8Array
  readonly family: Uint8Array
}

/** Whose kind it is. */
export interface Kindred {
  readonly projectId: number
  readonly environment: string | null
  readonly rows: { readonly kind: string }
}

/** Where every trace has a name of its own, the oldest make room. */
const MOST = 10_000
const NUMBER_BYTES = 8

export class KnownKinds {
  readonly #kinds = new Map<string, KindBytes>()

  find(trace: Kindred): KindBytes | undefined {
    return this.#kinds.get(keyOf(trace))
  }

  learn(trace: Kindred, { kind, family }: Numbers): void {
    if (this.#kinds.size >= MOST) this.#kinds.delete(this.#kinds.keys().next().value as string)
    this.#kinds.set(keyOf(trace), { kind: bytesOf(kind), family: bytesOf(family) })
  }
}

function bytesOf(number: string): Uint8Array {
  const bytes = Buffer.alloc(NUMBER_BYTES)
  bytes.writeBigInt64BE(BigInt(number))
  return bytes
}

const keyOf = ({ projectId, environment, rows }: Kindred): string => `${projectId}\0${environment ?? ''}\0${rows.kind}`
