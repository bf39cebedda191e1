/**
 * Assigns coding agents' records to traces. A record becomes a row for the span of its call
 * (lib/trace/span-messages.ts), and the record that ends a call also becomes a step: a span that represents the call
 * until the program itself sends a span for that call (lib/trace/states/steps.ts).
 */
import { sha256 } from '../../trace/document.ts'
import type { Json } from '../../trace/json/exact-json.ts'
import { stringifyExact } from '../../trace/json/exact-json.ts'
import type { CallFacts, PlacedMessages } from '../../trace/span-messages.ts'
import type { LogRecord } from '../logs/decode.ts'
import { fitTexts } from '../logs/messages.ts'
import { type AgentEvent, readAgentEvent } from './agent-events.ts'
import { stepIdOf, traceIdOf } from './ids.ts'

export interface AgentRecord {
  /** The row for the span of the call; undefined if the record adds nothing to that span. */
  readonly row: PlacedMessages | undefined
  readonly step: RecordStep | undefined
  readonly taken: ReadonlySet<string>
  /** The span that the record names; undefined if the record names none, or a span that is never sent. */
  readonly named: string | undefined
  /** The trace and span that the record's call belongs to, for records that name no span. */
  readonly traceId: string
  readonly target: string
  readonly call: string | undefined
}

/** A span made from a record. Its attribute names follow OpenTelemetry's GenAI conventions. */
export interface RecordStep {
  readonly traceId: string
  readonly id: string
  /** The id that this call's span has if the span is made from a transcript. */
  readonly callSpanId: string
  readonly parentId: string | undefined
  readonly name: string
  readonly startMicros: number
  readonly endMicros: number
  /** Why the call failed; undefined if it did not fail. */
  readonly failure: string | undefined
  readonly attributes: ReadonlyMap<string, Json>
  readonly resource: ReadonlyMap<string, Json>
}

const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/

/** Whether the record names a span of a trace. */
export const namesSpan = ({ traceId, spanId }: LogRecord): boolean => TRACE_ID.test(traceId) && SPAN_ID.test(spanId)

/** Whether the record names a span that the agent also sends. A record can name a span that is not sampled. */
const namesSentSpan = (record: LogRecord): boolean => namesSpan(record) && !record.isUnsampled

/** Returns the agents' records in an export, by record index. */
export function readAgentRecords(records: readonly LogRecord[]): ReadonlyMap<number, AgentRecord> {
  const events = records.map(readAgentEvent)
  const traces = findTraces(records, events)
  const found = new Map<number, AgentRecord>()
  for (const [i, event] of events.entries()) {
    if (event === undefined) continue
    const traceId = traces[i] ?? traceIdOf(event.session, event.prompt)
    found.set(i, placeRecord(records[i] as LogRecord, event, traceId, i))
  }
  return found
}

/**
 * Returns the trace of each record. Some agents write a traced call's records outside the call's span. A record without
 * a trace therefore gets the trace of the nearest earlier record of the same session in the export, or else of the
 * nearest later record. The trace of a span that is not sampled does not count, because the traces of such spans differ
 * within a prompt.
 */
function findTraces(
  records: readonly LogRecord[],
  events: readonly (AgentEvent | undefined)[]
): readonly (string | undefined)[] {
  const found: (string | undefined)[] = records.map(() => undefined)
  const indexes = [...records.keys()]
  for (const order of [indexes, indexes.toReversed()]) {
    const nearest = new Map<string, string>()
    for (const i of order) {
      const session = events[i]?.session
      if (session === undefined) continue
      const { traceId, isUnsampled } = records[i] as LogRecord
      if (TRACE_ID.test(traceId) && !isUnsampled) nearest.set(session, traceId)
      found[i] ??= nearest.get(session)
    }
  }
  return found
}

function placeRecord(record: LogRecord, event: AgentEvent, traceId: string, place: number): AgentRecord {
  const { micros } = record
  const { kind, session, callId } = event
  const named = namesSentSpan(record) ? record.spanId : undefined
  // Calls without an id are distinguished by their times.
  const callSpanId = stepIdOf(session, kind, callId || String(micros))
  const target = kind === 'prompt' ? (named ?? callSpanId) : callSpanId
  const call = kind === 'prompt' || !callId || callId.length > MAX_CALL_ID ? undefined : `${kind}:${callId}`
  const row = rowOf({ traceId, spanId: target, micros, place, call }, event)
  const step = event.ends ? stepOf(record, event, { traceId, callSpanId, target, named }) : undefined
  return { row, step, taken: new Set(event.taken), named, traceId, target, call }
}

const MAX_CALL_ID = 200

type Place = Pick<PlacedMessages, 'traceId' | 'spanId' | 'micros' | 'place'> & { readonly call: string | undefined }

function rowOf({ call, ...place }: Place, event: AgentEvent): PlacedMessages | undefined {
  const textOf = (value: Json) => (value === undefined || value === null ? null : stringifyExact(value))
  const given = { input: textOf(event.input), output: textOf(event.output) }
  const texts = event.kind === 'tool' ? fitTexts(given, text => text) : fitTexts(given)
  const facts = factsOf(event)
  if (texts.input === null && texts.output === null && facts === null) return undefined
  const digest = sha256(JSON.stringify([place.micros, texts.input, texts.output, facts, call])).slice(0, 32)
  return { ...place, digest, ...texts, facts, call: call ?? null }
}

function factsOf({ usage, costUsd }: AgentEvent): string | null {
  const facts: CallFacts = {
    ...(usage?.inputTokens !== undefined && { inputTokens: usage.inputTokens }),
    ...(usage?.outputTokens !== undefined && { outputTokens: usage.outputTokens }),
    ...(costUsd !== undefined && { costUsd })
  }
  return Object.keys(facts).length === 0 ? null : JSON.stringify(facts)
}

interface StepPlace {
  readonly traceId: string
  readonly callSpanId: string
  readonly target: string
  readonly named: string | undefined
}

const OPERATIONS = { prompt: 'invoke_agent', request: 'chat', tool: 'execute_tool' } as const

function stepOf(record: LogRecord, event: AgentEvent, { traceId, callSpanId, target, named }: StepPlace): RecordStep {
  const { kind, session, prompt, model, tool, usage } = event
  const { micros, origin } = record
  const agent = origin.resource.get('service.name')
  const reported: readonly (readonly [string, Json])[] = [
    ['gen_ai.operation.name', OPERATIONS[kind]],
    ['gen_ai.agent.name', kind === 'prompt' && typeof agent === 'string' ? agent : undefined],
    ['gen_ai.conversation.id', session],
    ['gen_ai.provider.name', event.provider],
    ['gen_ai.request.model', model],
    ['gen_ai.response.id', kind === 'request' ? event.callId : undefined],
    ['gen_ai.tool.name', tool],
    ['gen_ai.tool.call.id', kind === 'tool' ? event.callId : undefined],
    ['gen_ai.usage.input_tokens', usage?.inputTokens],
    ['gen_ai.usage.output_tokens', usage?.outputTokens],
    ['gen_ai.usage.cache_read.input_tokens', usage?.cacheReadTokens],
    ['gen_ai.usage.cache_creation.input_tokens', usage?.cacheWriteTokens],
    ['gen_ai.usage.reasoning.output_tokens', usage?.reasoningTokens],
    ['gen_ai.usage.cost', event.costUsd]
  ]
  const taken = new Set([...event.taken, 'event.name'])
  const others = [...record.attributes].filter(([name]) => !taken.has(name))
  const durationMicros = Math.round((event.durationMs ?? 0) * 1000)
  return {
    traceId,
    // Some providers reuse request ids, so the time is part of the step's id.
    id: kind === 'request' && event.callId ? stepIdOf(session, kind, `${event.callId} ${micros}`) : target,
    callSpanId,
    parentId:
      kind === 'prompt' ? undefined : (named ?? (prompt === '' ? undefined : stepIdOf(session, 'prompt', prompt))),
    name: tool ?? (kind === 'prompt' ? String(agent ?? 'prompt') : (model ?? kind)),
    startMicros: Math.max(1, micros - durationMicros),
    endMicros: micros,
    failure: event.failure,
    attributes: new Map([...others, ...reported.filter(([, value]) => value !== undefined)]),
    resource: origin.resource
  }
}
