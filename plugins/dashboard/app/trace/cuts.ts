/** Reads which of a span's texts were cut when the span was stored, from the attribute `spoor.truncated`. */
import { type JsonNode, memberAt, membersOf, readString, sourceOf } from '../content/json-text.ts'
import { formatBytes, formatCount } from '../ui/format.ts'

const TRUNCATED = 'spoor.truncated'
const HALVES = ['input', 'output', 'attributes', 'events'] as const
export type CutHalf = (typeof HALVES)[number]

export interface StoredCut {
  readonly half: CutHalf
  /** The place within the half, such as `[3].content`; empty for the whole half. */
  readonly place: string
  /** Size of the value that was sent, in bytes. */
  readonly bytes: number
  /** Whether nothing of the value is stored, because the trace reached its limit. */
  readonly isGone: boolean
}

/** Returns the cuts that a span's attributes list, by half; places outside the four halves count as attributes. */
export function storedCutsOf(text: string, attributes: JsonNode | undefined): StoredCut[] {
  const list = attributes?.kind === 'object' ? memberAt(text, attributes, TRUNCATED) : undefined
  if (list?.kind !== 'array') return []
  return membersOf(text, list).flatMap(({ node }) => {
    const place = memberAt(text, node, 'place')
    const bytes = memberAt(text, node, 'bytes')
    if (place?.kind !== 'string' || bytes?.kind !== 'number') return []
    const name = readString(text, place)
    const half = HALVES.find(each => name === each || name.startsWith(`${each}.`) || name.startsWith(`${each}[`))
    const isGone = memberAt(text, node, 'limit') !== undefined
    const size = Number(sourceOf(text, bytes))
    return [
      { half: half ?? 'attributes', place: half === undefined ? name : name.slice(half.length), bytes: size, isGone }
    ]
  })
}

/** Number of places that a note names. */
const MOST_NAMED = 3

/** Describes the cuts of one half in a sentence; undefined if nothing was cut. */
export function describeCuts(cuts: readonly StoredCut[], half: CutHalf): string | undefined {
  const own = cuts.filter(cut => cut.half === half)
  if (own.length === 0) return undefined
  const gone = own.find(({ isGone }) => isGone)
  if (gone !== undefined) {
    return `Not stored: ${formatBytes(gone.bytes)}. The trace has reached OTLP_MAX_TRACE_BYTES.`
  }
  const named = own
    .slice(0, MOST_NAMED)
    .map(({ place, bytes }) => `${place === '' ? 'this value' : place.replace(/^\./, '')} (${formatBytes(bytes)})`)
  const more = own.length - named.length
  return `Cut when stored: ${named.join(', ')}${more > 0 ? ` and ${formatCount(more)} more` : ''}.`
}
