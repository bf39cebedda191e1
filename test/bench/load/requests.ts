/** The requests of a trace as prepared bytes: head and body, with placeholders for the values that change. */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { IngestBody, TraceInput } from '../../../lib/schema/input.ts'
import { AGENT_RUNS, agentRun } from '../bodies/agent-runs.ts'
import { type BodyKind, ingestBody, SHAPES, type StreamedBodies, streamed, streamedBodies } from '../bodies/bodies.ts'
import { encodeExport, encodeJsonExport } from '../bodies/export.ts'
import { createTemplate, MINUTE_PLACE, type Template, TRACE_ID_PLACE } from '../bodies/template.ts'
import { AGENT_KINDS, type AgentKind, type LoadKind, type LoadPlan } from './load.ts'

export interface Script {
  readonly requests: readonly Template[]
  /** Bytes of the bodies only. */
  readonly bodyBytes: number
  /** Number of the trace's spans. */
  readonly spans: number
}

/** Returns the number of scripts of a kind. */
export function variantsOf(kind: LoadKind, runs?: string): number {
  if (isAgent(kind)) return runs === undefined ? AGENT_RUNS : readRuns(runs).length
  return SHAPES[bodyKindOf(kind)].variants
}
/** Returns the kind of trace that a load records, whether or not the load is streamed. */
export const bodyKindOf = (kind: LoadKind): BodyKind => (kind in SHAPES ? (kind as BodyKind) : 'typical')

export const isAgent = (kind: LoadKind): kind is AgentKind => (AGENT_KINDS as readonly LoadKind[]).includes(kind)

/** Returns whether the kind's bodies, and the responses to them, are OTLP in protobuf. */
export const isProtobuf = (kind: LoadKind): boolean => PROTOBUF_KINDS.includes(kind)
const PROTOBUF_KINDS: readonly LoadKind[] = ['otlp-protobuf', 'agent-otlp-protobuf', 'agent-otlp-whole']

/** Returns the requests that record one trace of a variant, in order. */
export function buildScript(
  kind: LoadKind,
  variant: number,
  { port, key, runs, endpoint }: Pick<LoadPlan, 'port' | 'key' | 'runs' | 'endpoint'>
): Script {
  let bodyBytes = 0
  const headers = Object.entries(endpoint?.headers ?? { Authorization: `Bearer ${key}` })
  const { parts, spans } = traceOf(kind, variant, runs)
  const requests = parts.map(({ path, type = 'application/json', body }) => {
    const bytes = Buffer.from(body)
    bodyBytes += bytes.length
    const head = [
      `POST ${endpoint?.path ?? path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      ...headers.map(([name, value]) => `${name}: ${value}`),
      `Content-Type: ${type}`,
      `Content-Length: ${bytes.length}`
    ]
    return createTemplate(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes]))
  })
  return { requests, bodyBytes, spans }
}

interface Part {
  readonly path: string
  /** The body's Content-Type; JSON if omitted. */
  readonly type?: string
  readonly body: string | Uint8Array
}

const TRACES = '/api/v1/traces'
const OTLP = '/api/v1/otlp/v1/traces'
const MINUTE = '2026-06-01T12:00'
interface MadeTrace {
  readonly parts: readonly Part[]
  readonly spans: number
}

/** The requests built so far, kept because large bodies take longer to build than to record. */
const made = new Map<string, MadeTrace>()

function traceOf(kind: LoadKind, variant: number, runs: string | undefined): MadeTrace {
  const name = `${kind} ${variant}`
  const trace = made.get(name) ?? makeTrace(kind, variant, runs)
  made.set(name, trace)
  return trace
}

function makeTrace(kind: LoadKind, variant: number, runs: string | undefined): MadeTrace {
  const body = bodyOf(kind, variant, runs)
  const parts = isAgent(kind) ? agentParts(kind, body) : makeParts(kind, variant, body)
  return { parts, spans: body.trace.spans?.length ?? 0 }
}

/** Builds the body that records the whole trace of a variant. */
function bodyOf(kind: LoadKind, variant: number, runs: string | undefined): IngestBody {
  if (!isAgent(kind)) return ingestBody(bodyKindOf(kind), variant)
  return runs === undefined ? agentRun(variant) : (readRuns(runs)[variant] as IngestBody)
}

function makeParts(kind: Exclude<LoadKind, AgentKind>, variant: number, body: IngestBody): Part[] {
  if (kind === 'streaming') return streamedParts(streamedBodies(variant))
  if (kind !== 'otlp-json' && kind !== 'otlp-protobuf') return [{ path: TRACES, body: JSON.stringify(body) }]
  return [exportPart(kind === 'otlp-json', inMinute(body).trace)]
}

/** Spans in an OTLP export of a run. */
const EXPORTED = 4

function agentParts(kind: AgentKind, body: IngestBody): Part[] {
  if (kind === 'agent') return [{ path: TRACES, body: JSON.stringify(body) }]
  if (kind === 'agent-live') return streamedParts(streamed(body, 1))
  const { trace } = inMinute(body)
  if (kind === 'agent-otlp-whole') return [exportPart(false, trace)]
  // A span is exported when it ends, so the root comes last.
  const spans = [...(trace.spans ?? [])].sort((a, b) => (a.endedAt < b.endedAt ? -1 : 1))
  return Array.from({ length: Math.ceil(spans.length / EXPORTED) }, (_, i) =>
    exportPart(kind === 'agent-otlp-json', { ...trace, spans: spans.slice(i * EXPORTED, (i + 1) * EXPORTED) })
  )
}

const files = new Map<string, readonly IngestBody[]>()

/** Reads a file of runs, and gives each the placeholder in place of its trace id. */
function readRuns(file: string): readonly IngestBody[] {
  const known = files.get(file)
  if (known !== undefined) return known
  const bytes = readFileSync(file)
  const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()
  const runs = text.split('\n').filter(Boolean)
  const bodies = runs.map(line => {
    const { id } = (JSON.parse(line) as IngestBody).trace
    return JSON.parse(line.replaceAll(id, TRACE_ID_PLACE))
  })
  files.set(file, bodies)
  return bodies
}

/** OTLP's times are numbers, so all exports have the same. */
const inMinute = (body: IngestBody): IngestBody => JSON.parse(JSON.stringify(body).replaceAll(MINUTE_PLACE, MINUTE))

const exportPart = (isJson: boolean, trace: TraceInput): Part =>
  isJson
    ? { path: OTLP, body: encodeJsonExport([trace]) }
    : { path: OTLP, type: 'application/x-protobuf', body: encodeExport([trace]) }

function streamedParts({ start, appends, end }: StreamedBodies): Part[] {
  const trace = `${TRACES}/${TRACE_ID_PLACE}`
  return [
    { path: TRACES, body: JSON.stringify(start) },
    ...appends.map(body => ({ path: `${trace}/spans`, body: JSON.stringify(body) })),
    { path: `${trace}/end`, body: JSON.stringify(end) }
  ]
}
