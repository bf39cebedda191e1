/**
 * The attributes of one span, read by name. An attribute whose value has become a field of the span is marked as
 * taken, so that it is not stored a second time among the attributes.
 */
import type { Json } from '../trace/json/exact-json.ts'
import { remembering } from '../trace/remembering.ts'
import type { Attributes } from './wire/request.ts'

const NO_NAMES: readonly string[] = []
const headOf = remembering(name => name.slice(0, name.indexOf('.') + 1))

export class Fields {
  readonly #attributes: Attributes
  readonly #taken = new Set<string>()
  #names = NO_NAMES
  /** The beginnings of the attribute names, up to and including the first dot. */
  #heads: ReadonlySet<string> | undefined

  constructor(attributes: Attributes) {
    this.#attributes = attributes
  }

  get(name: string): Json {
    return this.#attributes.get(name)
  }

  has(name: string): boolean {
    return this.#attributes.has(name)
  }

  /** Marks an attribute as taken. */
  take(name: string): void {
    this.#taken.add(name)
  }

  /** The names of all attributes that begin with `prefix`, which holds a dot. Most spans have none. */
  names(prefix: string): readonly string[] {
    if (this.#heads === undefined) {
      this.#names = [...this.#attributes.keys()]
      this.#heads = new Set(this.#names.map(headOf))
    }
    return this.#heads.has(headOf(prefix)) ? this.#names.filter(name => name.startsWith(prefix)) : NO_NAMES
  }

  /** The first of these attributes that has a value, and its name. */
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
