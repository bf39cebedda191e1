/** Converts a Langfuse score into a spoor score. */
import type { Json } from '../../trace/json/exact-json.ts'
import { isId, isSame, LangfuseFields, type LangfuseObject, mapId, readNumber } from './fields.ts'
import type { ObservationContext } from './observation.ts'

const NAME = /^[A-Za-z0-9_-]{1,64}$/
const SOURCES: Readonly<Record<string, string>> = { API: 'api', ANNOTATION: 'annotation', EVAL: 'eval' }

/**
 * Returns the score in the form used in export lines; undefined if spoor cannot represent it, that is, if its value is a
 * long text or a correction. `rest` holds fields that a score cannot hold. They are kept in the trace's metadata.
 */
export function convertScore(object: LangfuseObject, index: number, surroundings: ObservationContext) {
  const { trace, observationIds, mapping } = surroundings
  const fields = new LangfuseFields('score', `score ${index + 1}`, object, mapping)
  const originalId = fields.id('id')
  const id = mapId(originalId, 16)
  const value = readValue(fields)
  if (value === undefined) {
    fields.note(`dataType ${fields.see('dataType') ?? 'missing'} without a value of ours`, 'metadata langfuse.scores')
    return { id, score: undefined, rest: object }
  }
  if (isId(originalId, 16)) fields.took('id', 'id')
  else fields.note('id', 'id (hashed) and metadata langfuse.scores')
  const observation = fields.see('observationId')
  const hasObservation = typeof observation === 'string'
  if (hasObservation && (isId(observation, 16) || observationIds.has(observation)))
    fields.took('observationId', 'spanId')
  const score = {
    id,
    spanId: hasObservation ? mapId(observation, 16) : null,
    name: readName(fields),
    ...value,
    comment: fields.text('comment', 2000),
    source: readSource(fields),
    createdAt: fields.time('timestamp', 'createdAt') ?? fields.requiredTime('createdAt', 'createdAt')
  }
  fields.drop('traceId')
  if (isSame(fields.see('createdAt'), fields.see('timestamp'))) fields.drop('createdAt')
  const rest: Record<string, Json> = {}
  for (const [name, left] of fields.rest(trace)) {
    if (name !== 'id') fields.note(name, 'metadata langfuse.scores')
    rest[name] = left
  }
  return { id, score, rest }
}

/** Reads the value. Returns undefined if a spoor score cannot hold the value. */
function readValue(fields: LangfuseFields): { dataType: string; value: number | string | boolean } | undefined {
  const value = fields.see('value')
  const number = typeof value === 'boolean' ? Number(value) : readNumber(value)
  const text = fields.see('stringValue') ?? value
  const type = fields.see('dataType') ?? (number === undefined ? 'CATEGORICAL' : 'NUMERIC')
  const took = (dataType: string, value: number | string | boolean, name: string) => {
    fields.drop('dataType')
    fields.note(`dataType ${type}`, `dataType ${dataType}`)
    fields.took(name, 'value')
    return { dataType, value }
  }
  if (type === 'NUMERIC' && number !== undefined) return took('numeric', number, 'value')
  if (type === 'BOOLEAN' && (number === 0 || number === 1)) {
    fields.drop('stringValue')
    return took('boolean', number === 1, 'value')
  }
  const isCategory = (type === 'CATEGORICAL' || type === 'TEXT') && typeof text === 'string' && [...text].length <= 200
  if (!isCategory) return undefined
  return took('categorical', text, fields.see('stringValue') === undefined ? 'value' : 'stringValue')
}

/** Reads the name. Disallowed characters become `_`. In that case, the original name stays unread. */
function readName(fields: LangfuseFields): string {
  const name = fields.id('name')
  if (NAME.test(name)) fields.took('name', 'name')
  else fields.note('name', 'name (changed) and metadata langfuse.scores')
  return name.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, 64)
}

function readSource(fields: LangfuseFields): string {
  const source = String(fields.see('source') ?? 'API').toUpperCase()
  if (Object.hasOwn(SOURCES, source)) fields.took('source', 'source')
  return SOURCES[source] ?? 'api'
}
