/** Renders finished steps as an OpenTelemetry export request in JSON (ExportTraceServiceRequest). */
import { writeAttributes } from '../../otlp/wire/write-attributes.ts'
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
    resource: {
      attributes: writeAttributes([
        ['service.name', program.name],
        ['service.version', program.version]
      ])
    },
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
    attributes: writeAttributes(Object.entries(attributes)),
    status: { code: STATUSES[status], ...(message !== '' && { message }) }
  }
}

const nanosOf = (ms: number): string => `${ms}000000`
