/**
 * A dialect is a table of the attribute names that one convention uses for spoor's fields. Within each list of names,
 * the first attribute that has a value is used. lib/otlp/dialects.ts orders the dialects; lib/otlp/map-span.ts applies
 * them.
 */

import type { Json } from '../trace/json/exact-json.ts'
import type { FreeJson } from '../trace/json/free-json.ts'
import { plant, readTree, type Tree } from './attribute-tree.ts'
import type { Fields } from './fields.ts'
import { type DialectKind, kindByName } from './kind-names.ts'
import { freeForm, freeOf, readForm, type TextForm } from './wire/attribute-values.ts'
import type { OtlpEvent } from './wire/request.ts'

/**
 * Reads a span's input or output from one source, and marks the source's attributes as taken. Returns undefined if the
 * source has no value.
 */
export type AttributeSource = (fields: Fields, events: readonly OtlpEvent[], kind: DialectKind) => FreeJson | undefined

export interface Dialect {
  /** Returns the span's kind, or undefined if the span does not report a kind in this dialect. */
  readonly kind: (fields: Fields) => DialectKind | undefined
  readonly model?: readonly string[]
  /** Generic names for a model, read only on calls and agents. */
  readonly callModel?: readonly string[]
  readonly provider?: readonly string[]
  /** Attributes, from any list in this interface, whose string values are JSON strings: `"m"`, with quotation marks. */
  readonly quoted?: readonly string[]
  readonly inputTokens?: readonly string[]
  readonly outputTokens?: readonly string[]
  readonly totalTokens?: readonly string[]
  /** Attributes that count parts of the input and output tokens (lib/trace/call-details.ts). */
  readonly cacheReadTokens?: readonly string[]
  readonly cacheWriteTokens?: readonly string[]
  readonly reasoningTokens?: readonly string[]
  /** Names of counts in which the input always excludes cached tokens. Read only if no other name supplies a count. */
  readonly netCounts?: NetCounts
  /** Total cost in US dollars. */
  readonly cost?: readonly string[]
  /** Parts of the cost, summed if the total cost is not reported. */
  readonly costParts?: readonly string[]
  /** Attributes that hold token counts as a JSON object; `costDetails` lists attributes that hold costs. */
  readonly usageDetails?: readonly string[]
  readonly costDetails?: readonly string[]
  readonly input?: readonly AttributeSource[]
  readonly output?: readonly AttributeSource[]
  /** Attributes, by span kind, that name a span better than the span's own name does. */
  readonly names?: Readonly<Partial<Record<DialectKind, readonly string[]>>>
  /** Attributes with a raw request or response, which may repeat the span's input and output. */
  readonly raw?: readonly string[]
  /** Attributes that describe the span's trace. */
  readonly trace?: TraceNames
}

export interface NetCounts {
  /** Whether the span uses these names for its counts. */
  readonly isNet: (fields: Fields) => boolean
  readonly inputTokens: string
  readonly outputTokens: string
  readonly cacheReadTokens: string
  readonly cacheWriteTokens: string
}

export interface TraceNames {
  /** Attributes that are true on the topmost span that a sender exports for a trace, even if that span has a parent. */
  readonly root?: readonly string[]
  readonly name?: readonly string[]
  /** Attributes that name the trace if the span is the trace's root. */
  readonly rootName?: readonly string[]
  readonly input?: readonly string[]
  readonly output?: readonly string[]
  readonly sessionId?: readonly string[]
  /** Generic names for a session, read only on this dialect's spans and only if no other session name has a value. */
  readonly ownSessionId?: { readonly isOwn: (fields: Fields) => boolean; readonly names: readonly string[] }
  readonly userId?: readonly string[]
  readonly tags?: readonly string[]
  /** Attributes that hold metadata as a JSON object. */
  readonly metadata?: readonly string[]
  /** Prefixes of attributes that become metadata; the rest of the attribute's name is the metadata key. */
  readonly metadataPrefixes?: readonly string[]
  /** Encoding of `input`, `output` and prefixed values; `loose` by default. */
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
/** Reads an attribute that may be JSON text of any type. */
export const json = attribute('json')
/** Reads an attribute that may be an object or array as JSON text. */
export const loose = attribute('loose')
/** Reads an attribute that is either JSON text or a bare string. */
export const structured = attribute('structured')

/** Returns a source that builds a value from several attributes or events. */
export const composed =
  (compose: (fields: Fields, events: readonly OtlpEvent[]) => Json): AttributeSource =>
  (fields, events) => {
    const value = compose(fields, events)
    return value === undefined ? undefined : freeOf(value)
  }

/** Returns a function that reads a kind from an attribute. A value not listed in lib/otlp/kind-names.ts is ignored. */
export function kindBy(name: string, form: TextForm = 'text'): (fields: Fields) => DialectKind | undefined {
  return fields => {
    const value = readForm(fields.get(name), form)
    return typeof value === 'string' ? kindByName(value) : undefined
  }
}

/**
 * Returns a source that rebuilds a list from attributes named `<prefix>.<index>.<path>`. If one name is a prefix of
 * another, the attribute that is read second stays an attribute.
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
