/**
 * Encodes steps as an export in OTLP's JSON encoding and decodes that export, so that steps are mapped like other
 * spans.
 */
import { writeAttributes } from '../wire/write-attributes.ts'
import type { RecordStep } from './agent-records.ts'

/** Internal attribute of a step, read only when steps are decoded. */
export const CALL_SPAN = 'spoor.step.call_span_id'

export function encodeSteps(steps: readonly RecordStep[]): Uint8Array {
  const resourceSpans = steps.map(step => ({
    resource: { attributes: writeAttributes(step.resource) },
    scopeSpans: [{ spans: [spanOf(step)] }]
  }))
  return Buffer.from(JSON.stringify({ resourceSpans }))
}

function spanOf({ attributes, failure, ...step }: RecordStep) {
  return {
    traceId: step.traceId,
    spanId: step.id,
    ...(step.parentId !== undefined && { parentSpanId: step.parentId }),
    name: step.name,
    startTimeUnixNano: nanosOf(step.startMicros),
    endTimeUnixNano: nanosOf(step.endMicros),
    attributes: writeAttributes([...attributes, [CALL_SPAN, step.callSpanId]]),
    status: failure === undefined ? {} : { code: 2, message: failure }
  }
}

const nanosOf = (micros: number): string => `${micros}000`
