/**
 * The attributes of one span, read by name. What a field of the span was made of as it stands is taken: it is there now,
 * and not kept a second time among the attributes.
 */
import { inspectText, type Json, parseInexact } from '../trace/json.ts'
import type { Attributes } from './request.ts'

/** How the value of an attribute is written. */
export type Form =
  /** Text is text. */
  | 'text'
  /** Text is JSON, if it can be read as such. */
  | 'json'
  /** Text that looks like an object or array is JSON, if it can be read as such; other text is text. */
  | 'loose'

/** JSON in an attribute may be nested so deep and still stand in a document that is nested at most 100 levels. */
const MAX_DEPTH = 90

export class Fields {
  readonly #attributes: Attributes
  readonly #taken = new Set<string>()

  constructor(attributes: Attributes) {
    this.#attributes = attributes
  }

  get(name: string): Json {
    return this.#attributes.get(name)
  }

  has(name: string): boolean {
    return this.#attributes.has(name)
  }

  /** Marks an attribute as being somewhere else now. */
  take(name: string): void {
    this.#taken.add(name)
  }

  /** The names that begin so. */
  *names(prefix: string): Generator<string> {
    for (const name of this.#attributes.keys()) if (name.startsWith(prefix)) yield name
  }

  /** The first of these attributes that says something, and its name. */
  find(names: readonly string[]): { name: string; value: Json } | undefined {
    for (const name of names) {
      const value = this.#attributes.get(name)
      if (value !== undefined && value !== null && value !== '') return { name, value }
    }
    return undefined
  }

  /** What is left, in the order sent. */
  *rest(): Generator<[string, Json]> {
    for (const entry of this.#attributes) if (!this.#taken.has(entry[0])) yield entry
  }
}

/** The value of an attribute, as its form says; what cannot be read as JSON stays text. */
export function readForm(value: Json, form: Form): Json {
  if (typeof value !== 'string' || form === 'text') return value
  if (form === 'loose' && !/^\s*[[{]/.test(value)) return value
  return parseJson(value) ?? value
}

/** JSON text as a value; undefined where it is none, or is nested too deep to be kept as one. */
export function parseJson(text: string): Json {
  try {
    // This parser does not recurse as deep as the text may go; the exact one after it does.
    const value = JSON.parse(text)
    const { depth, inexact } = inspectText(text)
    if (depth > MAX_DEPTH) return undefined
    return inexact ? parseInexact(text) : value
  } catch {
    return undefined
  }
}
