/**
 * Sends an export's spans from a worker thread to the main thread as bytes, because objects are slow to transfer. The
 * main thread decodes the spans only if the trace is already stored, or is running. Input and output are read from the
 * spans' rows, which is rarely necessary: the heads of these texts are sent.
 */

import { CopyWriter, readField } from '../rows/copy-format.ts'
import { type SpanRows, textsOfRows } from '../rows/copy-rows.ts'
import type { SpanTexts } from '../rows/packed-texts.ts'
import type { Allocate } from '../rows/thread-bytes.ts'
import { LEAST_SHARED } from '../rows/trace-texts.ts'
import { bytesWhenCut } from '../trace/states/cut-texts.ts'
import type { GatheredSpan, TextHead } from '../trace/states/gathered.ts'

export interface SpansToGather {
  readonly spans: readonly GatheredSpan[]
  /**
   * The spans that have rows in ReadySpans' `first` record. Spans without a row get no slot in any stored trace either.
   */
  readonly storable: readonly GatheredSpan[]
}

type Texts = Pick<SpanTexts, 'input' | 'output'>
/** The fields that are sent as they are. */
type Fields = Omit<GatheredSpan, keyof Texts | 'cutBytes' | 'formerHash'>
/** `texts` is null if the span's row holds the texts. */
type Sent = readonly [fields: Fields, texts: Texts | null, formerHash?: string]

/** Encodes the spans. `storable` is a subset of `spans`, in the same order. */
export function encodeSpans({ spans, storable }: SpansToGather, allocate: Allocate): Uint8Array {
  const inRows = new Set(storable)
  const sent = spans.map((span): Sent => {
    const { input, output, formerHash } = span
    const texts = inRows.has(span) ? null : { input, output }
    return formerHash === undefined ? [fieldsOf(span), texts] : [fieldsOf(span), texts, formerHash]
  })
  writer.reset()
  writer.text(JSON.stringify(sent))
  return writer.take(allocate)
}

function fieldsOf(span: GatheredSpan): Fields {
  const { input, output } = span.textHeads
  return {
    id: span.id,
    parentId: span.parentId,
    kind: span.kind,
    status: span.status,
    startedAt: span.startedAt,
    endedAt: span.endedAt,
    provider: span.provider,
    model: span.model,
    inputTokens: span.inputTokens,
    outputTokens: span.outputTokens,
    totalTokens: span.totalTokens,
    costUsd: span.costUsd,
    costIsComputed: span.costIsComputed,
    hash: span.hash,
    bytes: span.bytes,
    hints: span.hints,
    textHeads: { input: sentHead(input), output: sentHead(output) }
  }
}

/** A text that is too short to be shared is stored in the trace's row, so it is sent. */
function sentHead(head: TextHead | null): TextHead | null {
  if (head === null || head.bytes < LEAST_SHARED) return head
  return { bytes: head.bytes, isNotation: head.isNotation }
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
  const spans = sent.map(
    ([fields, texts, formerHash]): GatheredSpan =>
      Object.assign(new LateTexts(fields, texts ?? textsOf), fields, { formerHash })
  )
  return { spans, storable: spans.filter((_, i) => sent[i]?.[1] === null) }
}

type TextsOf = (id: string) => SpanTexts

/**
 * Reads a span's texts when they are requested. This is a class because an object with getters of its own would stay in
 * memory (ClaimedText in lib/trace/states/gathered-texts.ts).
 */
class LateTexts implements Texts {
  readonly #span: Pick<Fields, 'id' | 'bytes'>
  readonly #texts: Texts | TextsOf

  constructor(span: Pick<Fields, 'id' | 'bytes'>, texts: Texts | TextsOf) {
    this.#span = span
    this.#texts = texts
  }

  get input(): string | null {
    return this.#find().input
  }

  get output(): string | null {
    return this.#find().output
  }

  /**
   * The size is computed only for a trace that may exceed its limit. Only a span with a row can be stored, and
   * therefore cut.
   */
  get cutBytes(): number {
    const { id, bytes } = this.#span
    return typeof this.#texts === 'function' ? bytesWhenCut(bytes, this.#texts(id)) : bytes
  }

  #find(): Texts {
    return typeof this.#texts === 'function' ? this.#texts(this.#span.id) : this.#texts
  }
}
