/**
 * From the bytes of a body to what is stored of it: parse, check, normalise, identify, measure. Pure; runs on worker
 * threads for large bodies and on the main thread for small ones.
 */
import { type ErrorCode, Refusal } from '../errors.ts'
import { checker } from '../schema/check.ts'
import { EndBody, IngestBody, MAX_JSON_DEPTH, SpansBody } from '../schema/input.ts'
import { decodeText, inspectText, parseInexact } from './json.ts'
import { type Body, normaliseEnd, normaliseSpans, normaliseTrace } from './normalise.ts'
import type { Prepared, PreparedAppend, PreparedEnd, PreparedTrace } from './prepared.ts'

/** Parses a body, or refuses it as `invalid_json`, or for its depth (the outermost level is 1) as `tooDeep`. */
export function readBody(bytes: Uint8Array, tooDeep: ErrorCode, maxDepth = MAX_JSON_DEPTH): Body {
  const text = decodeText(bytes)
  if (text === undefined) throw new Refusal('invalid_json', 'the body is not UTF-8 text')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const reason = text.trim() === '' ? 'the body is empty' : `the body is not valid JSON: ${(error as Error).message}`
    throw new Refusal('invalid_json', reason)
  }
  const { depth, inexact } = inspectText(text)
  if (depth > maxDepth) {
    throw new Refusal(tooDeep, `body: must not be nested deeper than ${maxDepth} levels`)
  }
  return {
    value,
    exact: inexact ? parseInexact(text) : value,
    inexact,
    // Only an escape can put U+0000 or half a surrogate pair into a string.
    escapes: text.includes('\\u')
  }
}

const schemas = { record: checker(IngestBody), append: checker(SpansBody), end: checker(EndBody) }

export function prepare(operation: 'record', bytes: Uint8Array): PreparedTrace
export function prepare(operation: 'append', bytes: Uint8Array): PreparedAppend
export function prepare(operation: 'end', bytes: Uint8Array): PreparedEnd
export function prepare(operation: Prepared['operation'], bytes: Uint8Array): Prepared
/** Prepares the body of one of the three write routes. Throws a Refusal that names the field and the rule. */
export function prepare(operation: Prepared['operation'], bytes: Uint8Array): Prepared {
  const body = readBody(bytes, 'invalid_trace')
  if (operation === 'record') return prepareTrace(body)
  checkBody(operation, body)
  return operation === 'append' ? normaliseSpans(body) : normaliseEnd(body)
}

/** Prepares what is the body of a recording, wherever it was read from. */
export function prepareTrace(body: Body): PreparedTrace {
  checkBody('record', body)
  return normaliseTrace(body)
}

function checkBody(operation: Prepared['operation'], { value }: Body): void {
  const schema = schemas[operation]
  if (!schema.check(value)) throw new Refusal('invalid_trace', schema.explain(value))
}
