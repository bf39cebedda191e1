/**
 * Converts Langfuse data into export lines: responses of `GET /api/public/traces/{id}`, lists of such traces (`data`),
 * and downloads from Langfuse's pages (`{trace, observations}`, or only `{observations, scores}`).
 */
import { Refusal } from '../../errors.ts'
import { MAX_JSON_DEPTH } from '../../schema/input.ts'
import { readBody } from '../../trace/body.ts'
import { type Json, stringifyExact } from '../../trace/json/exact-json.ts'
import type { Converted } from '../import-file.ts'
import { isObject, type LangfuseObject, Mapping, refuseLine } from './fields.ts'
import { convertTrace } from './trace.ts'

/** Langfuse's wrappers may add nesting levels that a line does not have. */
const MAX_DEPTH = MAX_JSON_DEPTH + 3

/** For each trace in one value of a file, yields a line or the reason why the trace cannot be converted. */
export function* convertLangfuse(bytes: Uint8Array): Generator<Converted> {
  const { exact } = readBody(bytes, 'invalid_trace', MAX_DEPTH)
  for (const trace of tracesIn(exact)) yield convertOne(trace)
}

function convertOne(trace: Json): Converted {
  const mapping = new Mapping()
  try {
    const object = isObject(trace) ? trace : refuseLine('is not an object')
    const line = convertTrace(wholeTrace(object), mapping)
    return { line: Buffer.from(stringifyExact(line)), mapped: mapping.counts }
  } catch (error) {
    if (error instanceof Refusal) return { refusal: error.message }
    throw error
  }
}

function tracesIn(value: Json): readonly Json[] {
  return isObject(value) && Array.isArray(value.data) ? value.data : [value]
}

/**
 * Returns the trace as one object that includes its observations and scores, regardless of where the value holds these.
 */
function wholeTrace(object: LangfuseObject): LangfuseObject {
  const { trace, observations, ...others } = object
  if (isObject(trace)) return { ...trace, ...others, ...(observations !== undefined && { observations }) }
  if (object.id !== undefined || !Array.isArray(observations)) return object
  return { ...traceOf(observations), ...object }
}

/** Builds a trace from its observations' fields, for a download that contains no trace object. */
function traceOf(observations: readonly Json[]): LangfuseObject {
  const [first, ...others] = observations.filter(isObject)
  if (first === undefined) return {}
  const starts = [first, ...others].map(({ startTime }) => String(startTime)).sort()
  const { traceId, traceName, userId, sessionId, environment, release, tags, public: isPublic, bookmarked } = first
  return {
    ...{ id: traceId, name: traceName, timestamp: starts[0], userId, sessionId, environment, release, tags },
    ...{ public: isPublic, bookmarked, projectId: first.projectId }
  }
}
