/**
 * A gathered trace takes its input and output from its spans. A claim for one of them needs only the text's head: its
 * size, and whether people can read it. The text itself may be packed in the span's row, and stays there: the trace's
 * row names the span (lib/rows/trace-texts.ts).
 */
import { type GatheredSpan, INNER, type Level, type TextHead, type TextHeads } from './gathered-span.ts'

export type Side = 'input' | 'output'

/** A new input or output of a trace. */
export interface NewText {
  /** JSON text. Reading this property may unpack the span's texts. */
  readonly text: string
  /** Size in UTF-8 bytes. */
  readonly bytes: number
  /** The stored span with this text, from which the trace's text can be read; null if the trace's row must hold it. */
  readonly spanId: string | null
}

/** Grade of an unreadable input or output. This grade is worse than every level. */
const UNREADABLE = 4
/**
 * Matches a string that contains the repr of a Python object, such as `StopEvent(result=…`. LlamaIndex sends such
 * results in addition to readable messages.
 */
const NOTATION = /^"[A-Z]\w*\(\w+=/

const headOf = (text: string | null): TextHead | null =>
  text === null ? null : { bytes: Buffer.byteLength(text), isNotation: NOTATION.test(text), text }

const NO_TEXTS: TextHeads = { input: null, output: null }

type Texts = Pick<GatheredSpan, 'kind' | 'input' | 'output'>

/**
 * Returns the heads of a span's texts. A tool call inside the trace has none: its arguments and result are not the
 * trace's input and output.
 */
export const textHeads = ({ kind, input, output }: Texts, level: Level): TextHeads =>
  kind === 'tool' && level === INNER ? NO_TEXTS : { input: headOf(input), output: headOf(output) }

/** Returns the grade of the claim of a span's own text; undefined if the trace cannot take the text. */
export function gradeOfText({ textHeads, hints }: GatheredSpan, side: Side): Level | typeof UNREADABLE | undefined {
  const head = textHeads[side]
  if (head === null) return undefined
  return head.isNotation ? UNREADABLE : hints.level
}

/** Returns the text that a span claims. `isStored` says whether the span's row keeps its texts. */
export function claimedText(span: GatheredSpan, side: Side, isStored: boolean): NewText {
  const { hints, id, textHeads } = span
  const said = hints[side]
  if (said !== undefined) return { text: said, bytes: Buffer.byteLength(said), spanId: null }
  const head = textHeads[side]
  if (head === null) throw new Error(`span ${id} claims its ${side}, but has none`)
  // The row of a step may be removed later (steps.ts).
  return new ClaimedText(span, side, head, isStored && hints.callSpanId === undefined ? id : null)
}

/**
 * A span's own text. This is a class because V8 makes a shape for each object with a getter of its own. Such a shape is
 * collected late, and would keep the span in memory.
 */
class ClaimedText implements NewText {
  readonly bytes: number
  readonly spanId: string | null
  readonly #span: GatheredSpan
  readonly #side: Side
  readonly #text: string | undefined

  constructor(span: GatheredSpan, side: Side, { bytes, text }: TextHead, spanId: string | null) {
    this.bytes = bytes
    this.spanId = spanId
    this.#span = span
    this.#side = side
    this.#text = text
  }

  get text(): string {
    return this.#text ?? (this.#span[this.#side] as string)
  }
}

/** Returns the text for the trace's own row, because the span's row does not keep it. */
export const asOwnText = ({ text, bytes }: NewText): NewText => ({ text, bytes, spanId: null })
