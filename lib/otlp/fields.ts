/**
 * A span's attributes by name. Attributes that become fields are marked as taken, so that their values are not stored
 * twice.
 */
import type { Json } from '../trace/json/exact-json.ts'
import { remembering } from '../trace/remembering.ts'
import type { Attributes } from './wire/request.ts'

const NO_NAMES: readonly string[] = []
const headOf = remembering(name => name.slice(0, name.indexOf('.') + 1))

/** Maps each name to its groups, as a bit mask. */
const groupsOf = new Map<string, number>()
let groups = 0

/**
 * Creates a group of names that are looked up together. Most spans have no attributes in most groups, so scanning a
 * span's attributes once for all groups is faster than looking up each name.
 */
export function groupOf(names: readonly string[]): number {
  const group = 1 << groups++
  for (const name of names) groupsOf.set(name, (groupsOf.get(name) ?? 0) | group)
  return group
}

/** Facts about the program that sent a span, as determined from its process. */
export interface SpanSender {
  /** Whether Codex sent the span (lib/otlp/dialects/coding-agents.ts). */
  readonly isCodex: boolean
  /** Whether MLflow sent the span, even if the span has none of MLflow's own attributes (lib/otlp/dialects.ts). */
  readonly isMlflow: boolean
}

export class Fields {
  readonly #attributes: Attributes
  readonly spanName: string
  readonly sender: SpanSender
  readonly #taken = new Set<string>()
  /** Bit mask of the groups that the attributes belong to; undefined until first needed. */
  #groups: number | undefined
  #names = NO_NAMES
  /** Prefixes of the attribute names, up to and including the first dot. */
  #heads: ReadonlySet<string> | undefined

  constructor(attributes: Attributes, spanName: string, sender: SpanSender) {
    this.#attributes = attributes
    this.spanName = spanName
    this.sender = sender
  }

  get(name: string): Json {
    return this.#attributes.get(name)
  }

  has(name: string): boolean {
    return this.#attributes.has(name)
  }

  take(name: string): void {
    this.#taken.add(name)
  }

  /** Returns the names that begin with `prefix`, which must contain a dot. Most spans have no matching name. */
  names(prefix: string): readonly string[] {
    if (this.#heads === undefined) {
      this.#names = [...this.#attributes.keys()]
      this.#heads = new Set(this.#names.map(headOf))
    }
    return this.#heads.has(headOf(prefix)) ? this.#names.filter(name => name.startsWith(prefix)) : NO_NAMES
  }

  /** Whether the span has an attribute in the group. */
  mentions(group: number): boolean {
    if (this.#groups === undefined) {
      let all = 0
      for (const name of this.#attributes.keys()) all |= groupsOf.get(name) ?? 0
      this.#groups = all
    }
    return (this.#groups & group) !== 0
  }

  /** Returns the first of these attributes that has a non-empty value. */
  find(names: readonly string[]): { name: string; value: Json } | undefined {
    for (const name of names) {
      const value = this.#attributes.get(name)
      if (value !== undefined && value !== null && value !== '') return { name, value }
    }
    return undefined
  }

  /** Takes the first of these attributes that has a non-empty value, and returns the value. */
  takeFirst(names: readonly string[]): Json {
    const found = this.find(names)
    if (found !== undefined) this.take(found.name)
    return found?.value
  }

  isTaken(name: string): boolean {
    return this.#taken.has(name)
  }
}
