/**
 * Joins spans with model-call messages that arrived separately as log records. A span sent without input or output is
 * shown with the messages that name it.
 */
import { isBefore } from './timestamp.ts'

/** A log record's input and output for its span, each a JSON array as text, or null if absent. */
export interface SpanMessages {
  readonly spanId: string
  /** Microseconds since 1970. A span's messages are ordered by time, then by their position in the export. */
  readonly micros: number
  readonly place: number
  /** 32 hexadecimal digits. A resent record has the same digest. */
  readonly digest: string
  readonly input: string | null
  readonly output: string | null
}

/** A span's messages together with the span's trace id. */
export interface PlacedMessages extends SpanMessages {
  readonly traceId: string
}

interface Texts {
  readonly input: string | null
  readonly output: string | null
}
interface Span extends Texts {
  readonly id: string
  readonly parentSpanId: string | null
  readonly startedAt: string
  readonly endedAt: string
}

/**
 * Fills in spans' missing input and output from `messages`, which must be in order. A trace without input takes the
 * filled-in input of its parentless span, or else of its earliest span. A trace without output takes the filled-in
 * output of its parentless span, or else of its latest span.
 */
export function joinMessages<T extends Texts, S extends Span>(
  trace: T,
  spans: readonly S[],
  messages: readonly SpanMessages[]
): { trace: T; spans: readonly S[] } {
  if (messages.length === 0) return { trace, spans }
  const heard = spans.map(span => messages.filter(({ spanId }) => spanId === span.id))
  const joined = spans.map((span, i) => ({
    ...span,
    input: span.input ?? listOf(heard[i]!, 'input'),
    output: span.output ?? listOf(heard[i]!, 'output')
  }))
  const level = ({ parentSpanId }: S) => (parentSpanId === null ? 0 : 1)
  const asked = joined.filter(({ input }, i) => input !== spans[i]!.input)
  const answered = joined.filter(({ output }, i) => output !== spans[i]!.output)
  const [first] = asked.sort((a, b) => level(a) - level(b) || (isBefore(a.startedAt, b.startedAt) ? -1 : 1))
  const [last] = answered.sort((a, b) => level(a) - level(b) || (isBefore(b.endedAt, a.endedAt) ? -1 : 1))
  const input = trace.input ?? first?.input ?? null
  const output = trace.output ?? last?.output ?? null
  return { trace: { ...trace, input, output }, spans: joined }
}

/** Concatenates JSON arrays. Returns null if there are none. */
function listOf(said: readonly SpanMessages[], side: 'input' | 'output'): string | null {
  const lists = said.map(each => each[side]).filter(text => text !== null)
  return lists.length === 0 ? null : `[${lists.map(text => text.slice(1, -1)).join(',')}]`
}
