/**
 * Selects the spans to record when a trace has more than `most`. The first spans to start get the slots, because
 * parents start before their children. A later failed span replaces a span that did not fail, has no waiting
 * children, and has not been sent.
 */
import { MAX_SPANS } from '../api-types.ts'
import type { SpanRecord } from './render.ts'

export class SpanBuffer {
  /** Maximum number of spans. */
  most = MAX_SPANS
  readonly #slots = new Set<string>()
  /** Finished spans that have not been sent. */
  #waiting: SpanRecord[] = []
  /** Approximate size of the finished, unsent spans in bytes. */
  bytes = 0
  /** Spans without a slot, counted in total and by kind. */
  leftOut: { count: number; kinds: Record<string, number> } | undefined

  get isFull(): boolean {
    return this.#slots.size >= this.most
  }

  /** Called when a span starts. Returns whether the span gets a slot. */
  enter(id: string): boolean {
    if (this.isFull) return false
    this.#slots.add(id)
    return true
  }

  has(id: string): boolean {
    return this.#slots.has(id)
  }

  add(span: SpanRecord): void {
    if (!this.#slots.has(span.id)) {
      const out = span.status === 'error' ? this.#makeRoom(span) : undefined
      this.#count(out ?? span)
      if (out === undefined) return
      this.#slots.add(span.id)
    }
    this.#waiting.push(span)
    this.bytes += span.bytes
  }

  /** Removes and returns the finished spans. */
  take(): SpanRecord[] {
    const taken = this.#waiting
    this.#waiting = []
    this.bytes = 0
    return taken
  }

  #count({ kind }: SpanRecord): void {
    this.leftOut ??= { count: 0, kinds: {} }
    this.leftOut.count++
    this.leftOut.kinds[kind] = (this.leftOut.kinds[kind] ?? 0) + 1
  }

  /** Frees a waiting span's slot and returns that span; undefined if no span can be replaced. */
  #makeRoom({ parentSpanId }: SpanRecord): SpanRecord | undefined {
    const parents = new Set(this.#waiting.map(each => each.parentSpanId).concat(parentSpanId))
    const place = this.#waiting.findLastIndex(({ id, status }) => status !== 'error' && !parents.has(id))
    const [out] = place < 0 ? [] : this.#waiting.splice(place, 1)
    if (out === undefined) return undefined
    this.#slots.delete(out.id)
    this.bytes -= out.bytes
    return out
  }
}
