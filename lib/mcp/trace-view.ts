/**
 * How get_trace shows a trace. Clients cut a long result somewhere and lose the rest, so a long trace is answered with
 * an outline, and with chosen spans where the caller names some.
 */
import Type, { type Static } from 'typebox'
import { MAX_SPANS, SpanId } from '../schema/input.ts'
import { named } from '../schema/object.ts'
import { SpanOutput } from '../schema/output.ts'
import { inspectText, parseInexact, stringifyExact } from '../trace/json/exact-json.ts'
import { type Detail, outlineTrace, TraceOutline } from './outline.ts'
import type { View } from './tool.ts'

/** About 20,000 tokens; the usual clients cut at 25,000. */
const MAX_SHOWN_BYTES = 60_000

const options = Type.Object({
  detail: Type.Optional(
    Type.Enum(['auto', 'outline', 'full'], {
      default: 'auto',
      description:
        '`full`: everything, however long. `outline`: the tree of spans, with what they hold cut short. `auto`: full ' +
        `where that is less than ${MAX_SHOWN_BYTES} bytes, otherwise the outline.`
    })
  ),
  spanIds: Type.Optional(
    Type.Array(SpanId, {
      minItems: 1,
      maxItems: MAX_SPANS,
      description: 'Only these spans, whole, whatever `detail` says. Take the ids from an outline.'
    })
  )
})

const ChosenSpans = named('ChosenSpans', {
  traceId: SpanOutput.properties.traceId,
  spans: Type.Array(SpanOutput, { description: 'The spans asked for, whole, by `startedAt`, then id.' }),
  missing: Type.Array(SpanOutput.properties.id, { description: 'Ids asked for that no span of the trace has.' })
})

export const traceView: View = {
  options,
  outputs: [TraceOutline, ChosenSpans],
  isWhole: ({ detail, spanIds }: Static<typeof options>) => detail === 'full' && spanIds === undefined,
  show(answer, { detail = 'auto', spanIds }: Static<typeof options>) {
    if (spanIds !== undefined) return chooseSpans(answer, spanIds)
    const bytes = Buffer.byteLength(answer)
    if (detail === 'full' || (detail === 'auto' && bytes < MAX_SHOWN_BYTES)) return answer
    const { value, inexact } = parse(answer)
    return outlineTrace(value, { inexact, bytes, maxBytes: MAX_SHOWN_BYTES })
  }
}

function chooseSpans(answer: string, spanIds: readonly string[]): string {
  const { value, inexact } = parse(answer)
  const missing = new Set(spanIds.map(id => id.toLowerCase()))
  const spans = value.spans.filter(span => missing.delete(span.id))
  const chosen: Static<typeof ChosenSpans> = { traceId: value.trace.id, spans, missing: [...missing] }
  return stringifyExact(chosen, inexact)
}

function parse(answer: string): { value: Detail; inexact: boolean } {
  const { inexact } = inspectText(answer)
  return { value: (inexact ? parseInexact(answer) : JSON.parse(answer)) as Detail, inexact }
}
