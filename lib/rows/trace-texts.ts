/**
 * Shares a trace's input and output with its spans. The input of a trace usually equals that of one of its spans, and
 * so does the output: OpenTelemetry has no other source for them. Such a text is stored in the span only, where it is
 * packed together with the texts that repeat it (lib/rows/packed-texts.ts). The trace's row names the span, and has the
 * length of the text, which is often needed without the text.
 *
 * A span keeps its texts for as long as its row exists, and rows of single spans are never removed, except those of
 * steps. A text is therefore shared with any span but a step.
 */
import type { PreparedTrace, TraceSpan } from '../trace/prepared.ts'
import type { NewText } from '../trace/states/gathered-texts.ts'
import { readField, skipFields } from './copy-format.ts'
import { isStep } from './packed-texts.ts'

/**
 * Minimum length of a shared text, in characters, or in bytes for a text that need not be decoded. Naming a span takes
 * 13 bytes of the trace's row.
 */
export const LEAST_SHARED = 128

/** The spans that have a trace's input and output; null for a text that is stored in the trace's row, if any. */
export interface SharedTexts {
  readonly inputSpanId: string | null
  readonly outputSpanId: string | null
}

/** A trace's input and output as stored. A shared text is null, and its length in bytes is set. */
export interface TraceTexts extends SharedTexts {
  readonly input: string | null
  readonly output: string | null
  readonly inputBytes: number | null
  readonly outputBytes: number | null
}

/** Returns the texts to store for a new trace. */
export function textsOfTrace(trace: Pick<PreparedTrace, 'input' | 'output' | 'spans' | 'areByteTexts'>): TraceTexts {
  const { input, output, spans, areByteTexts } = trace
  const bytesOf = (text: string) => (areByteTexts === true ? text.length : Buffer.byteLength(text))
  const inputSpanId = spanWith('input', input, spans)
  const outputSpanId = spanWith('output', output, spans)
  return {
    input: inputSpanId === null ? input : null,
    output: outputSpanId === null ? output : null,
    inputSpanId,
    outputSpanId,
    inputBytes: inputSpanId === null ? null : bytesOf(input as string),
    outputBytes: outputSpanId === null ? null : bytesOf(output as string)
  }
}

/** Returns the first span with this text. Comparing strings is cheap, because nearly all differ in length. */
function spanWith(side: 'input' | 'output', text: string | null, spans: readonly TraceSpan[]): string | null {
  if (text === null || text.length < LEAST_SHARED) return null
  for (const span of spans) if (span[side] === text && !isStep(span)) return span.id
  return null
}

/** A trace's new input or output as stored. `bytes` is set for a shared text only. */
interface StoredText {
  readonly text: string | null
  readonly spanId: string | null
  readonly bytes: number | null
}

const NO_TEXT: StoredText = { text: null, spanId: null, bytes: null }

/** Returns how to store a text that a change sets; undefined keeps the stored text. */
export function storedText(text: NewText | string | null | undefined): StoredText {
  if (text == null) return NO_TEXT
  if (typeof text === 'string') return { text, spanId: null, bytes: null }
  const { spanId, bytes } = text
  return spanId === null || bytes < LEAST_SHARED ? { ...NO_TEXT, text: text.text } : { text: null, spanId, bytes }
}

interface Texts {
  readonly input: string | null
  readonly output: string | null
}

/** Returns a trace with the texts that it shares with these spans, whose own texts must be unpacked. */
export function withSharedTexts<T extends Texts & SharedTexts>(
  trace: T,
  spans: readonly (Texts & { readonly id: string })[]
): T {
  const { inputSpanId, outputSpanId } = trace
  if (inputSpanId === null && outputSpanId === null) return trace
  const textOf = (id: string | null, side: keyof Texts) => spans.find(span => span.id === id)?.[side] ?? null
  return {
    ...trace,
    input: trace.input ?? textOf(inputSpanId, 'input'),
    output: trace.output ?? textOf(outputSpanId, 'output')
  }
}

const SIDES = ['input', 'output'] as const
interface Wanted {
  readonly text: string
  readonly bytes: Buffer
}

/** Finds the spans that have the input and the output of a stored trace. */
export class SharedFinder {
  readonly #wanted: readonly (Wanted | undefined)[]
  readonly #found: (string | null)[] = SIDES.map(() => null)

  /** Texts that are null or too short are not looked for. */
  constructor(texts: Texts) {
    this.#wanted = SIDES.map(side => {
      const text = texts[side]
      return text === null || text.length < LEAST_SHARED ? undefined : { text, bytes: Buffer.from(text) }
    })
  }

  get found(): SharedTexts {
    const [inputSpanId = null, outputSpanId = null] = this.#found
    return { inputSpanId, outputSpanId }
  }

  /** Whether every wanted text is found, so that no further span needs to be checked. */
  get isDone(): boolean {
    return this.#wanted.every((wanted, i) => wanted === undefined || this.#found[i] !== null)
  }

  /** Checks a span with unpacked texts. */
  lookAt(span: Texts & { readonly id: string }): void {
    this.#look(span.id, ({ text }, i) => span[SIDES[i]!] === text)
  }

  /** Checks a span in a block, which begins with the field of its id. */
  lookAtPacked({ id, bytes }: { readonly id: string; readonly bytes: Buffer }): void {
    this.#look(id, (wanted, i) => readField(bytes, skipFields(bytes, 0, 1 + i)).bytes?.equals(wanted.bytes) === true)
  }

  #look(id: string, has: (wanted: Wanted, i: number) => boolean): void {
    for (const [i, wanted] of this.#wanted.entries()) {
      if (wanted !== undefined && this.#found[i] === null && has(wanted, i)) this.#found[i] = id
    }
  }
}
