/** Converts a Langfuse observation into a span. */
import { isId, LangfuseFields, type LangfuseObject, type Mapping, mapId } from './fields.ts'
import { readLangfuseCost, readLangfuseUsage } from './usage.ts'

/** A span in the form used in export lines. */
export type SpanOfLine = ReturnType<typeof convertObservation>

/** The facts about the trace that are needed to map an observation or a score. */
export interface ObservationContext {
  /** The trace. A field that has the same value in the trace and in the observation or score is kept only once. */
  readonly trace: LangfuseObject
  readonly observationIds: ReadonlySet<unknown>
  readonly mapping: Mapping
}

/** Types with a matching kind in spoor. Any other type is kept in the attributes. */
const KINDS: Readonly<Record<string, string>> = {
  GENERATION: 'llm',
  AGENT: 'agent',
  TOOL: 'tool',
  CHAIN: 'chain',
  RETRIEVER: 'retriever',
  EMBEDDING: 'embedding'
}

export function convertObservation(object: LangfuseObject, index: number, surroundings: ObservationContext) {
  const { trace, observationIds, mapping } = surroundings
  const fields = new LangfuseFields('observation', `observation ${index + 1}`, object, mapping)
  const attributes = fields.object('metadata', 'attributes')
  const id = fields.mappedId(16, attributes, 'attributes')
  const parent = fields.see('parentObservationId')
  const hasParent = typeof parent === 'string'
  // If the parent is missing and its id changes, the parent's original id is kept as an attribute, because no other
  // field records it.
  if (hasParent && (isId(parent, 16) || observationIds.has(parent))) fields.took('parentObservationId', 'parentSpanId')
  const startedAt = fields.requiredTime('startTime', 'startedAt')
  const endedAt = fields.time('endTime', 'endedAt')
  if (endedAt === undefined) fields.note('endTime missing', 'endedAt as startedAt')
  const usage = readLangfuseUsage(fields)
  const span = {
    id,
    parentSpanId: hasParent ? mapId(parent, 16) : null,
    name: fields.name('name', 500, 'unnamed'),
    kind: readKind(fields),
    status: readStatus(fields),
    startedAt,
    endedAt: endedAt ?? startedAt,
    model: fields.text('model', 200),
    input: fields.take('input'),
    output: fields.take('output'),
    attributes,
    usage,
    costUsd: readLangfuseCost(fields, usage)
  }
  fields.drop('traceId')
  fields.keepRest(attributes, 'attributes', { ...trace, traceName: trace.name })
  return span
}

function readKind(fields: LangfuseFields): string {
  const type = String(fields.see('type') ?? 'missing').toUpperCase()
  const kind = KINDS[type] ?? 'custom'
  fields.note(`type ${type}`, `kind ${kind}`)
  if (kind !== 'custom') fields.drop('type')
  return kind
}

/** Reads the status from the level. Langfuse writes DEFAULT if no level was given. */
function readStatus(fields: LangfuseFields): 'error' | 'unset' {
  const level = fields.see('level')
  const status = level === 'ERROR' ? 'error' : 'unset'
  if (level !== undefined) fields.note(`level ${level}`, `status ${status}`)
  if (level === 'ERROR' || level === 'DEFAULT') fields.drop('level')
  return status
}
