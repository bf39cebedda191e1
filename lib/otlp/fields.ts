/**
 * The attributes of one span, read by name. An attribute whose value has become a field of the span is marked as
 * taken, so that it is not stored a second time among the attributes.
 */
import type { Json } from '../trace/json/exact-json.ts'
import type { Attributes } from './wire/request.ts'

export class Fields {
  readonly #attributes: Attributes
  readonly #taken = new Set<string>()
  #names: readonly string[] | undefined

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

  /** The names of all attributes that begin with `prefix`. */
  names(prefix: string): readonly string[] {
    this.#names ??= [...this.#attributes.keys()]
    return this.#names.filter(name => name.startsWith(prefix))
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
