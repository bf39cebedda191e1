/**
 * Encodes steps as an export in OTLP's JSON encoding and decodes that export, so that steps are mapped like other
 * spans.
 */
import { LosslessNumber } from 'lossless-json'
import type { Json } from '../../trace/json/exact-json.ts'
import type { RecordStep } from './agent-records.ts'

/** Internal attribute of a step, read only when steps are decoded. */
export const CALL_SPAN = 'spoor.step.call_span_id'

export function encodeSteps(steps: readonly RecordStep[]): Uint8Array {
  const resourceSpans = steps.map(step => ({
    resource: { attributes: attributesOf(step.resource) },
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
    attributes: attributesOf(new Map([...attributes, [CALL_SPAN, step.callSpanId]])),
    status: failure === undefined ? {} : { code: 2, message: failure }
  }
}

const nanosOf = (micros: number): string => `${micros}000`

const attributesOf = (attributes: ReadonlyMap<string, Json>) =>
  Array.from(attributes, ([key, value]) => ({ key, value: anyValueOf(value) }))

function anyValueOf(value: Json): object {
  if (value instanceof LosslessNumber) return { stringValue: value.value }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValueOf) } }
  switch (typeof value) {
    case 'string':
      return { stringValue: value }
    case 'boolean':
      return { boolValue: value }
    case 'number':
      return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
    case 'object':
      if (value === null) return {}
      return { kvlistValue: { values: Object.entries(value).map(([key, item]) => ({ key, value: anyValueOf(item) })) } }
    default:
      return {}
  }
}
