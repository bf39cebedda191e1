/**
 * Turns attributes that the operator chose (OTLP_TAGS) into tags such as `tenant.id:acme`. A value that does not fit in
 * a tag is left out, never cut, because a cut tag could stand for several values. The trace's metadata records the
 * omission (lib/trace/states/left-out-tags.ts).
 */
import { MAX_TAG, MAX_TAGS } from '../schema/input.ts'
import type { Json } from '../trace/json/exact-json.ts'
import type { SpanHints } from '../trace/states/gathered.ts'
import { textOfAttribute } from './text.ts'

/** The chosen attributes, and the tags of a resource. It is stored with the portions of a large export. */
export interface Tagging {
  readonly names: readonly string[]
  readonly ofResource: readonly string[]
  readonly leftOut: boolean
}

type Tags = Pick<SpanHints, 'tags' | 'tagsLeftOut'>
/** Looks up an attribute by name. */
interface Attributed {
  get(name: string): Json
}

export function readTagging(resource: Attributed, names: readonly string[]): Tagging {
  const { tags, tagsLeftOut = false } = chosenTags(resource, names)
  return { names, ofResource: tags, leftOut: tagsLeftOut }
}

/** Adds the tags from a span's chosen attributes and from its resource to the tags that the span reports. */
export function withChosenTags(reported: readonly string[], span: Attributed, tagging: Tagging): Tags {
  const { tags, tagsLeftOut = false } = chosenTags(span, tagging.names)
  const all = [...new Set([...reported, ...tags, ...tagging.ofResource])]
  return tagsLeftOut || tagging.leftOut ? { tags: all, tagsLeftOut: true } : { tags: all }
}

function chosenTags(attributes: Attributed, names: readonly string[]): Tags {
  const tags: string[] = []
  let tagsLeftOut = false
  for (const name of names) {
    const value = attributes.get(name)
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item === undefined || item === null || item === '') continue
      const text = textOfAttribute(item, MAX_TAG)
      const tag = `${name}:${text}`
      if (text === undefined || [...tag].length > MAX_TAG) tagsLeftOut = true
      else tags.push(tag)
    }
  }
  // A trace keeps the first tags in alphabetical order (lib/trace/states/left-out-tags.ts), so no others are needed.
  const kept = [...new Set(tags)].sort().slice(0, MAX_TAGS)
  return tagsLeftOut || kept.length < new Set(tags).size ? { tags: kept, tagsLeftOut: true } : { tags: kept }
}
