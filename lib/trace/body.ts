/** Parses bodies into values. The plain bodies of the write routes are read without this (lib/trace/json/reader.ts). */
import { type ErrorCode, Refusal } from '../errors.ts'
import { MAX_JSON_DEPTH } from '../schema/input.ts'
import { decodeText, inspectText, parseInexact } from './json/exact-json.ts'

/** A parsed body. */
export interface ParsedBody {
  readonly value: unknown
  /**
   * The same value, with a LosslessNumber for every number that JavaScript would write in another way; `value` if
   * none.
   */
  readonly exact: unknown
  /** Whether there is such a number. */
  readonly inexact: boolean
  /** Whether strings may hold U+0000 or unpaired surrogates. */
  readonly escapes: boolean
}

/**
 * Parses a body. Refuses what is not JSON as `invalid_json`, and deeper nesting than `maxDepth` with the code
 * `tooDeep`.
 */
export function readBody(bytes: Uint8Array, tooDeep: ErrorCode, maxDepth?: number): ParsedBody {
  return parseBody(readText(bytes), tooDeep, maxDepth)
}

/** The text of a body. Refuses what is not UTF-8 as `invalid_json`. */
export function readText(bytes: Uint8Array): string {
  const text = decodeText(bytes)
  if (text === undefined) throw new Refusal('invalid_json', 'the body is not UTF-8 text')
  return text
}

/** The same as readBody, for a text. The outermost object or array is level 1. */
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
 * Parses a value within a body, exactly. `level` is the number of objects and arrays around it. What is wrong is
 * refused as by readBody, with `invalid_request` for deeper nesting.
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

/** Only an escape can put U+0000 or half a surrogate pair into a string. */
export const mayHoldOddText = (text: string): boolean => text.includes('\\u')
