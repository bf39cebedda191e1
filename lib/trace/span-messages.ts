/**
 * Messages of model calls that came apart from their spans, as log records. A span that was sent without input, or
 * without output, is shown with those that name it.
 */
import { isBefore } from './timestamp.ts'

/** The input and output that a log record has for its span, as JSON texts of arrays; null if it has none. */
export interface SpanMessages {
  readonly spanId: string
  /**
   * Messages of a span are in the order of their times (microseconds since 1970), then of their places in the export.
   */
  readonly micros: number
  readonly place: number
  /** 32 hexadecimal digits. A record that is sent again has the same. */
  readonly digest: string
  readonly input: string | null
  readonly output: string | null
}

/** The same with the trace of the span. */
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
 * The trace and its spans with the messages where they have no input or output of their own. `messages` are in their
 * order. A trace without input takes that of the span that has no parent, else of the first one, and the output of the
 * last.
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

/** The arrays as one; null if none of them is there. */
function listOf(said: readonly SpanMessages[], side: 'input' | 'output'): string | null {
  const lists = said.map(each => each[side]).filter(text => text !== null)
  return lists.length === 0 ? null : `[${lists.map(text => text.slice(1, -1)).join(',')}]`
}
