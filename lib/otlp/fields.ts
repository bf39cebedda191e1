/**
 * A span's attributes by name. An attribute that becomes a field is marked as taken, so that it is not stored twice.
 */
import type { Json } from '../trace/json/exact-json.ts'
import { remembering } from '../trace/remembering.ts'
import type { Attributes } from './wire/request.ts'

const NO_NAMES: readonly string[] = []
const headOf = remembering(name => name.slice(0, name.indexOf('.') + 1))

/** Groups of names by name, each group a bit. */
const groupsOf = new Map<string, number>()
let groups = 0

/**
 * Makes a group of names that are looked up together. Most spans have no attribute of most groups, and one look at a
 * span's attributes for all groups is faster than looking up each name.
 */
export function groupOf(names: readonly string[]): number {
  const group = 1 << groups++
  for (const name of names) groupsOf.set(name, (groupsOf.get(name) ?? 0) | group)
  return group
}

export class Fields {
  readonly #attributes: Attributes
  readonly spanName: string
  readonly isCodex: boolean
  readonly #taken = new Set<string>()
  /** The groups of the attributes; undefined until it is asked for. */
  #groups: number | undefined
  #names = NO_NAMES
  /** Prefixes of the attribute names, up to and including the first dot. */
  #heads: ReadonlySet<string> | undefined

  /** `isCodex` says that Codex sent the span (lib/otlp/dialects/coding-agents.ts). */
  constructor(attributes: Attributes, spanName: string, isCodex: boolean) {
    this.#attributes = attributes
    this.spanName = spanName
    this.isCodex = isCodex
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

  /** Whether the span has an attribute of the group. */
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

  isTaken(name: string): boolean {
    return this.#taken.has(name)
  }
}
