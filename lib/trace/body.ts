/** Parses request bodies. Plain bodies of the write routes are read by lib/trace/json/reader.ts instead. */
import { type ErrorCode, Refusal } from '../errors.ts'
import { MAX_JSON_DEPTH } from '../schema/input.ts'
import { decodeText, inspectText, parseInexact } from './json/exact-json.ts'

export interface ParsedBody {
  readonly value: unknown
  /** Like `value`, but with a LosslessNumber for each number that JavaScript would write differently. */
  readonly exact: unknown
  /** Whether `exact` contains LosslessNumbers. */
  readonly inexact: boolean
  /** Whether strings may contain U+0000 or unpaired surrogates. */
  readonly escapes: boolean
}

/**
 * Parses a body. Throws a Refusal: `invalid_json` if the body is not JSON, or the code in `tooDeep` if the body nests
 * deeper than `maxDepth`.
 */
export function readBody(bytes: Uint8Array, tooDeep: ErrorCode, maxDepth?: number): ParsedBody {
  return parseBody(readText(bytes), tooDeep, maxDepth)
}

/** Decodes a body. Throws a Refusal with code `invalid_json` if the body is not UTF-8. */
export function readText(bytes: Uint8Array): string {
  const text = decodeText(bytes)
  if (text === undefined) throw new Refusal('invalid_json', 'the body is not UTF-8 text')
  return text
}

/** Like readBody, but for a body that is already decoded. The outermost object or array is level 1. */
export function parseBody(text: string, tooDeep: ErrorCode, maxDepth = MAX_JSON_DEPTH): ParsedBody {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const reason = text.trim() === '' ? 'the body is empty' : `the body is not valid JSON: ${(error as Error).message}`
    throw new Refusal('invalid_json', reason)
  }
  const { depth, inexact } = inspectText(text)
  if (depth > maxDepth) throw nestedTooDeep(tooDeep, maxDepth)
  return { value, exact: inexact ? parseInexact(text) : value, inexact, escapes: mayHoldOddText(text) }
}

/**
 * Parses a value inside a body, keeping numbers exact. `level` is the number of enclosing objects and arrays. Throws
 * like readBody, with code `invalid_request` if the value nests too deeply.
 */
export function readPart(bytes: Uint8Array, path: string, level: number): unknown {
  const text = readText(bytes)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Refusal('invalid_json', `${path}: is not valid JSON: ${(error as Error).message}`)
  }
  const { depth, inexact } = inspectText(text)
  if (level + depth > MAX_JSON_DEPTH) throw nestedTooDeep('invalid_request', MAX_JSON_DEPTH)
  return inexact ? parseInexact(text) : value
}

const nestedTooDeep = (code: ErrorCode, most: number) =>
  new Refusal(code, `body: must not be nested deeper than ${most} levels`)

/** Whether strings may contain U+0000 or unpaired surrogates. Only a `\u` escape can produce either. */
export const mayHoldOddText = (text: string): boolean => text.includes('\\u')
