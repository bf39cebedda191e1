/**
 * Which spans of a trace are recorded, where there are more than a trace holds. Places go to the spans that start first,
 * since a parent starts before its children. A later span that failed takes the place of a span that did not fail, has
 * no children that are recorded, and has not been sent.
 */
import { MAX_SPANS } from '../api-types.ts'
import type { SpanRecord } from './render.ts'

export class SpanRoom {
  readonly #places = new Set<string>()
  /** Finished, and not sent. */
  #waiting: SpanRecord[] = []
  #waitingSize = 0
  /** Spans without a place. */
  leftOut: { count: number; kinds: Record<string, number> } | undefined

  /** A span starts: whether it has a place. */
  enter(id: string): boolean {
    if (this.#places.size >= MAX_SPANS) return false
    this.#places.add(id)
    return true
  }

  has(id: string): boolean {
    return this.#places.has(id)
  }

  /** Bytes of finished spans that are not sent. */
  get bytes(): number {
    return this.#waitingSize
  }

  /** A span has ended. */
  add(span: SpanRecord): void {
    if (!this.#places.has(span.id)) {
      const out = span.status === 'error' ? this.#makeRoom(span) : undefined
      this.#count(out ?? span)
      if (out === undefined) return
      this.#places.add(span.id)
    }
    this.#waiting.push(span)
    this.#waitingSize += span.bytes
  }

  /** The finished spans, which will be sent. */
  take(): SpanRecord[] {
    const taken = this.#waiting
    this.#waiting = []
    this.#waitingSize = 0
    return taken
  }

  #count({ kind }: SpanRecord): void {
    this.leftOut ??= { count: 0, kinds: {} }
    this.leftOut.count++
    this.leftOut.kinds[kind] = (this.leftOut.kinds[kind] ?? 0) + 1
  }

  /** Gives the span that has lost its place. */
  #makeRoom({ parentSpanId }: SpanRecord): SpanRecord | undefined {
    const parents = new Set(this.#waiting.map(each => each.parentSpanId).concat(parentSpanId))
    const place = this.#waiting.findLastIndex(({ id, status }) => status !== 'error' && !parents.has(id))
    const [out] = place < 0 ? [] : this.#waiting.splice(place, 1)
    if (out === undefined) return undefined
    this.#places.delete(out.id)
    this.#waitingSize -= out.bytes
    return out
  }
}
