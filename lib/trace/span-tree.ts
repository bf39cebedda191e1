/**
 * The spans of one trace, by id and by parent. The write path caches the tree of a trace's stored spans. An export's
 * spans form a second tree on top of the cached tree, which does not change until the write is committed.
 */
interface Linked {
  readonly id: string
  readonly parentId: string | null
}

const NONE: readonly never[] = []

/** Iterates over the spans in the order in which they were added. */
export class SpanTree<T extends Linked> implements Iterable<T> {
  readonly #below: SpanTree<T> | undefined
  readonly #ids = new Set<string>()
  readonly #own: T[] = []
  readonly #children = new Map<string, T[]>()
  /**
   * The spans of both trees, collected when first needed, because iterating over an array is much faster than over a
   * generator.
   */
  #all: readonly T[] | undefined

  /** `below` must not change while this tree is in use. */
  constructor(spans: Iterable<T> = NONE, below?: SpanTree<T>) {
    this.#below = below
    for (const span of spans) this.add(span)
  }

  get size(): number {
    return this.#own.length + (this.#below?.size ?? 0)
  }

  has(id: string): boolean {
    return this.#ids.has(id) || this.#below?.has(id) === true
  }

  /**
   * Adds a span. Throws if the tree has a span with this id, because a span that counts twice would falsify every sum.
   */
  add(span: T): void {
    if (this.has(span.id)) throw new Error(`span ${span.id} is already in the tree`)
    this.#ids.add(span.id)
    this.#own.push(span)
    this.#all = undefined
    if (span.parentId === null) return
    const siblings = this.#children.get(span.parentId)
    if (siblings === undefined) this.#children.set(span.parentId, [span])
    else siblings.push(span)
  }

  childrenOf(id: string): readonly T[] {
    const own = this.#children.get(id) ?? NONE
    if (this.#below === undefined) return own
    const others = this.#below.childrenOf(id)
    return own.length === 0 ? others : others.length === 0 ? own : [...others, ...own]
  }

  [Symbol.iterator](): Iterator<T> {
    if (this.#below === undefined) return this.#own[Symbol.iterator]()
    this.#all ??= [...this.#below, ...this.#own]
    return this.#all[Symbol.iterator]()
  }
}
