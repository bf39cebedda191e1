/**
 * Sends an export's spans from a worker thread to the main thread as bytes, because objects are slow to transfer. The
 * main thread decodes the spans only if the trace is already stored. Input and output are read from the spans' rows.
 */

import { CopyWriter, readField } from '../rows/copy-format.ts'
import { type SpanRows, textsOfRows } from '../rows/copy-rows.ts'
import type { SpanTexts } from '../rows/packed-texts.ts'
import type { Allocate } from '../rows/thread-bytes.ts'
import { bytesWhenCut } from '../trace/states/cut-texts.ts'
import type { GatheredSpan, SpanHints } from '../trace/states/gathered.ts'

export interface SpansToGather {
  readonly spans: readonly GatheredSpan[]
  /**
   * The spans that have rows in ReadySpans' `first` record. Spans without a row get no slot in any stored trace either.
   */
  readonly storable: readonly GatheredSpan[]
}

const FIELDS = [
  ...(['id', 'parentId', 'kind', 'status', 'startedAt', 'endedAt', 'provider', 'model'] as const),
  ...(['inputTokens', 'outputTokens', 'totalTokens', 'costUsd', 'costIsComputed'] as const),
  ...(['hash', 'bytes'] as const)
] as const
const HINTS = [
  ...([
    'level',
    'startMicros',
    'endMicros',
    'endsInFuture',
    'name',
    'ownName',
    'input',
    'output',
    'sessionId',
    'userId',
    'resourceSessionId',
    'resourceUserId'
  ] as const),
  ...(['responseId', 'toolCallId', 'callSpanId', 'tags', 'tagsLeftOut', 'metadata'] as const)
] as const
type Texts = Pick<SpanTexts, 'input' | 'output'>
/** The values of the fields and hints. `texts` is null if the span's row holds the texts. */
type Sent = readonly [fields: readonly unknown[], hints: readonly unknown[], texts: Texts | null, formerHash?: string]

/** Encodes the spans. `storable` is a subset of `spans`, in the same order. */
export function encodeSpans({ spans, storable }: SpansToGather, allocate: Allocate): Uint8Array {
  const inRows = new Set(storable)
  const sent = spans.map((span): Sent => {
    const { hints, input, output, formerHash } = span
    const fields = FIELDS.map(name => span[name])
    const said = HINTS.map(name => hints[name])
    const texts = inRows.has(span) ? null : { input, output }
    return formerHash === undefined ? [fields, said, texts] : [fields, said, texts, formerHash]
  })
  writer.reset()
  writer.text(JSON.stringify(sent))
  return writer.take(allocate)
}

const writer = new CopyWriter()

/** Decodes the spans. `rows` are the storable spans' rows, which are decoded when the first text is requested. */
export function decodeSpans(encoded: Uint8Array, rows: SpanRows | undefined): SpansToGather {
  const { buffer, byteOffset, byteLength } = encoded
  const { bytes } = readField(Buffer.from(buffer, byteOffset, byteLength), 0)
  const sent: readonly Sent[] = JSON.parse((bytes as Buffer).toString())
  let read: ReadonlyMap<string, SpanTexts> | undefined
  const textsOf: TextsOf = id => {
    read ??= rows === undefined ? new Map() : textsOfRows(rows)
    return read.get(id) as SpanTexts
  }
  const spans = sent.map(([fields, hints, texts, formerHash]) => spanOf(fields, hints, texts ?? textsOf, formerHash))
  return { spans, storable: spans.filter((_, i) => sent[i]?.[2] === null) }
}

type TextsOf = (id: string) => SpanTexts

function spanOf(
  fields: readonly unknown[],
  hints: readonly unknown[],
  texts: Texts | TextsOf,
  formerHash: string | undefined
) {
  const known = Object.fromEntries(FIELDS.map((name, i) => [name, fields[i]])) as unknown as Omit<
    GatheredSpan,
    keyof Texts | 'hints' | 'cutBytes'
  >
  // A missing hint is undefined, which JSON encodes as null.
  const said = Object.fromEntries(HINTS.map((name, i) => [name, hints[i] ?? undefined])) as unknown as SpanHints
  const find = () => (typeof texts === 'function' ? texts(known.id) : texts)
  const span = {
    ...known,
    formerHash,
    hints: said,
    get input() {
      return find().input
    },
    get output() {
      return find().output
    },
    /**
     * The size is computed only for a trace that may exceed its limit. Only a span with a row can be stored, and
     * therefore cut.
     */
    get cutBytes() {
      return typeof texts === 'function' ? bytesWhenCut(known.bytes, texts(known.id)) : known.bytes
    }
  }
  return span satisfies GatheredSpan
}
