/** Renders finished steps as an OpenTelemetry export request in JSON (ExportTraceServiceRequest). */
import type { AgentStep, Program } from './transcript.ts'

const SCOPE = { name: 'spoor.transcripts' }
const STATUSES = { unset: 0, ok: 1, error: 2 }
const INTERNAL = 1

export function otlpRequest(steps: readonly AgentStep[]): string {
  const programs = new Map<string, { program: Program; steps: AgentStep[] }>()
  for (const step of steps) {
    const { program } = step
    const key = JSON.stringify([program.name, program.version])
    const known = programs.get(key)
    if (known === undefined) programs.set(key, { program, steps: [step] })
    else known.steps.push(step)
  }
  const resourceSpans = [...programs.values()].map(({ program, steps }) => ({
    resource: { attributes: attributesOf({ 'service.name': program.name, 'service.version': program.version }) },
    scopeSpans: [{ scope: SCOPE, spans: steps.map(spanOf) }]
  }))
  return JSON.stringify({ resourceSpans })
}

function spanOf({ traceId, spanId, parentSpanId, name, startMs, endMs, status, message, attributes }: AgentStep) {
  return {
    traceId,
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    name,
    kind: INTERNAL,
    startTimeUnixNano: nanosOf(startMs),
    endTimeUnixNano: nanosOf(Math.max(startMs, endMs)),
    attributes: attributesOf(attributes),
    status: { code: STATUSES[status], ...(message !== '' && { message }) }
  }
}

const nanosOf = (ms: number): string => `${ms}000000`

function attributesOf(attributes: AgentStep['attributes']) {
  return Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ({ key, value: anyValueOf(value!) }))
}

function anyValueOf(value: string | number | readonly string[]): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'number') return { intValue: String(value) }
  return { arrayValue: { values: value.map(anyValueOf) } }
}
