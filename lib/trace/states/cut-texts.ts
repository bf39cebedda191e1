/**
 * Cuts the texts (input, output, attributes and events) of spans that would make a trace larger than
 * OTLP_MAX_TRACE_BYTES. The span itself remains, with its name, times, status, usage and cost. Its only attribute,
 * `spoor.truncated`, lists what was cut, as for a single span that is too large (lib/otlp/content/fit-span.ts).
 */
import { TRUNCATED } from '../../schema/otlp.ts'
import type { PreparedSpan } from '../prepared.ts'
import type { GatheredSpan } from './gathered.ts'

type Texts = Pick<PreparedSpan, 'input' | 'output' | 'attributes' | 'events'>

/** Size in a document, in bytes, of each text that is null: `null`, `{}` or `[]`. */
const EMPTY_BYTES = { input: 4, output: 4, attributes: 2, events: 2 } as const
const PLACES = ['input', 'output', 'attributes', 'events'] as const

export function cutTexts(texts: Texts): Texts {
  const cuts = PLACES.flatMap(place => {
    const text = texts[place]
    return text === null ? [] : [{ place, bytes: Buffer.byteLength(text), limit: 'OTLP_MAX_TRACE_BYTES' }]
  })
  return { input: null, output: null, attributes: JSON.stringify({ [TRUNCATED]: cuts }), events: null }
}

const MARK = `{"${TRUNCATED}":[{"place":`
const LIMIT = '"limit":"OTLP_MAX_TRACE_BYTES"'

/** Whether the attributes come from a span whose texts were cut. */
export const isCutText = (attributes: string | null): boolean =>
  attributes?.startsWith(MARK) === true && attributes.slice(0, 300).includes(LIMIT)

/** Returns the size of a span's document with its texts cut. `bytes` is the size with these texts. */
export const bytesWhenCut = (bytes: number, texts: Texts): number =>
  bytes - countTexts(texts) + countTexts(cutTexts(texts))

function countTexts(texts: Texts): number {
  let bytes = 0
  for (const place of PLACES) {
    const text = texts[place]
    bytes += text === null ? EMPTY_BYTES[place] : Buffer.byteLength(text)
  }
  return bytes
}

export interface Cuts {
  /** Spans whose texts are cut. */
  readonly spans: ReadonlySet<GatheredSpan>
  /** Number of bytes that the cuts save. */
  readonly bytes: number
}

/**
 * Returns a stored trace's new spans that do not fit into the remaining bytes. A span is cut only if that saves bytes.
 */
export function cutBeyond(added: readonly GatheredSpan[], leftBytes: number): Cuts {
  const spans = new Set<GatheredSpan>()
  let bytes = 0
  let left = leftBytes
  for (const span of added) {
    const { cutBytes = span.bytes } = span
    const isCut = span.bytes > left && cutBytes < span.bytes
    if (isCut) {
      spans.add(span)
      bytes += span.bytes - cutBytes
    }
    left -= isCut ? cutBytes : span.bytes
  }
  return { spans, bytes }
}
