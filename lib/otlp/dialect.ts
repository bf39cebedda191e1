/**
 * A dialect is a table: the names of attributes by which one convention writes the fields that spoor has. In a list of
 * names, the first attribute that has a value counts. lib/otlp/dialects.ts puts the dialects in order,
 * lib/otlp/map-span.ts uses them.
 */

import type { SPAN_KINDS } from '../schema/input.ts'
import type { Json } from '../trace/json/exact-json.ts'
import type { FreeJson } from '../trace/json/free-json.ts'
import { plant, readTree, type Tree } from './attribute-tree.ts'
import type { Fields } from './fields.ts'
import { freeForm, freeOf, readForm, type TextForm } from './wire/attribute-values.ts'
import type { OtlpEvent } from './wire/request.ts'

export type DialectKind = (typeof SPAN_KINDS)[number]

/**
 * Reads an input or an output of a span of this kind from one place; undefined if the span has none there. Takes the
 * attributes that it uses.
 */
export type AttributeSource = (fields: Fields, events: readonly OtlpEvent[], kind: DialectKind) => FreeJson | undefined

export interface Dialect {
  /** The kind of the span; undefined if the span does not state one in this dialect. */
  readonly kind: (fields: Fields) => DialectKind | undefined
  readonly model?: readonly string[]
  readonly provider?: readonly string[]
  /** Attributes, from all lists of names here, that hold a text as JSON text: `"m"` with its quotation marks. */
  readonly quoted?: readonly string[]
  readonly inputTokens?: readonly string[]
  readonly outputTokens?: readonly string[]
  readonly totalTokens?: readonly string[]
  /** The whole cost in US dollars. */
  readonly cost?: readonly string[]
  /** Parts of the cost, which are summed if the whole cost is not stated. */
  readonly costParts?: readonly string[]
  /** Attributes that hold counts, or costs, as a JSON object. */
  readonly usageDetails?: readonly string[]
  readonly costDetails?: readonly string[]
  readonly input?: readonly AttributeSource[]
  readonly output?: readonly AttributeSource[]
  /** Attributes that name a span of this kind better than its own name does. */
  readonly names?: Readonly<Partial<Record<DialectKind, readonly string[]>>>
  /** Attributes that may repeat, as a raw request or response, what the span's input and output hold. */
  readonly raw?: readonly string[]
  /** Attributes that say something about the span's trace. */
  readonly trace?: TraceNames
}

export interface TraceNames {
  /** Attributes that are true if a span is the first of its trace that is sent, although it has a parent. */
  readonly root?: readonly string[]
  readonly name?: readonly string[]
  /** Attributes that name the trace if the span is its root. */
  readonly rootName?: readonly string[]
  readonly input?: readonly string[]
  readonly output?: readonly string[]
  readonly sessionId?: readonly string[]
  readonly userId?: readonly string[]
  readonly tags?: readonly string[]
  /** Attributes that hold metadata as a JSON object. */
  readonly metadata?: readonly string[]
  /** Prefixes: every attribute whose name begins with one is a key of the metadata. */
  readonly metadataPrefixes?: readonly string[]
  /** The encoding of input, output and the values under the prefixes; `loose` if the dialect does not say. */
  readonly form?: TextForm
}

const attribute =
  (form: TextForm) =>
  (name: string): AttributeSource =>
  fields => {
    const found = fields.find([name])
    if (found === undefined) return undefined
    fields.take(name)
    return freeForm(found.value, form)
  }
/** Text that may be JSON of any kind. */
export const json = attribute('json')
/** Text, or an object or array as JSON text. */
export const loose = attribute('loose')

/** A source that puts a value together from several attributes. */
export const composed =
  (compose: (fields: Fields, events: readonly OtlpEvent[]) => Json): AttributeSource =>
  (fields, events) => {
    const value = compose(fields, events)
    return value === undefined ? undefined : freeOf(value)
  }

/** Finds the kind for the value of an attribute; undefined if the span does not have it. */
export function kindBy(
  name: string,
  kinds: Readonly<Record<string, DialectKind>>,
  otherwise?: DialectKind,
  form: TextForm = 'text'
): (fields: Fields) => DialectKind | undefined {
  return fields => {
    const value = readForm(fields.get(name), form)
    if (typeof value !== 'string') return undefined
    return Object.hasOwn(kinds, value) ? kinds[value] : otherwise
  }
}

/**
 * A source that puts a list together again from attributes named `<prefix>.<index>.<path>`; undefined if there are
 * none. An attribute whose name is the beginning of another one's stays an attribute.
 */
export function indexed(prefix: string): AttributeSource {
  const beginning = `${prefix}.`
  return composed(fields => {
    const names = fields.names(beginning)
    if (names.length === 0) return undefined
    const tree: Tree = new Map()
    for (const name of names) {
      if (plant(tree, name.slice(beginning.length), fields.get(name))) fields.take(name)
    }
    return tree.size === 0 ? undefined : readTree(tree)
  })
}
