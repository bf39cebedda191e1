/**
 * Defines the result of converting a coding agent's transcript: finished steps, each of which becomes a span.
 *
 * A transcript grows while its agent works, and may be imported repeatedly. A step therefore depends only on the lines
 * up to the line that finishes the step, and is returned once, complete. A transcript's first lines yield the same
 * steps no matter how many lines follow, so a repeated import sends duplicate steps but never conflicting steps.
 */
import { MAX_JSON_DEPTH } from '../../schema/input.ts'
import { inspectText, type Json, parseInexact, plainNumber } from '../../trace/json/exact-json.ts'

export interface Transcript {
  /** Reads the next line, which is parsed JSON, and returns the steps that this line finishes. */
  read(line: Json): readonly AgentStep[]
  /**
   * Returns the steps that count as finished because the transcript has not grown for `quietMs` milliseconds. Lines
   * that are added later would finish the same steps.
   */
  settle(quietMs: number): readonly AgentStep[]
  /** Whether a prompt has begun and is not finished. */
  readonly isOpen: boolean
}

export interface AgentStep {
  readonly traceId: string
  readonly spanId: string
  /** The parent span's id; undefined for the root of a trace. */
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly startMs: number
  readonly endMs: number
  readonly status: 'unset' | 'ok' | 'error'
  /** The error message; empty unless the status is `error`. */
  readonly message: string
  readonly attributes: StepAttributes
  /** The program that wrote the transcript. */
  readonly program: Program
}

export interface Program {
  readonly name: string
  readonly version: string
}

/** Attributes whose value is undefined are omitted. */
export type StepAttributes = Readonly<Record<string, string | number | readonly string[] | undefined>>

/**
 * A message (ModelMessage) and a part of a message (ContentPart), as in OpenTelemetry's conventions for generative AI.
 */
export type ContentPart = { readonly type: string } & Readonly<Record<string, Json>>
export interface ModelMessage {
  readonly role: string
  readonly parts: readonly ContentPart[]
  readonly finish_reason?: string | undefined
}

/** Once a transcript has not grown for this long, a model call that has ended is considered complete. */
export const SHORT_QUIET_MS = 10_000
/** Once a transcript has not grown for this long, a model call whose end is not recorded is considered complete. */
export const LONG_QUIET_MS = 600_000

/** Maximum length of an error message, in characters. A tool's full output is in the tool's result. */
const MAX_MESSAGE = 1000
export const shortened = (text: string): string => (text.length <= MAX_MESSAGE ? text : text.slice(0, MAX_MESSAGE))

export type Fields = Readonly<Record<string, Json>>
const NOTHING: Fields = {}

/** Reads JSON of unknown shape. A value of another type is read as empty or undefined. */
export const readFields = (value: Json): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : NOTHING
export const readList = (value: Json): readonly Json[] => (Array.isArray(value) ? value : [])
export const stringIn = (value: Json): string => (typeof value === 'string' ? value : '')
export const idIn = (value: Json): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

export function readCount(value: Json): number | undefined {
  const count = plainNumber(value)
  return Number.isSafeInteger(count) && (count as number) >= 0 ? (count as number) : undefined
}

/** Parses JSON without changing its numbers. Returns undefined if the text is not JSON, or is nested too deeply. */
export function readJson(text: string): Json {
  let value: Json
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  // The text is inspected after it is parsed, because inspectText requires valid JSON.
  const { depth, inexact } = inspectText(text)
  if (depth > MAX_JSON_DEPTH) return undefined
  return inexact ? parseInexact(text) : value
}

/** Returns a time in milliseconds since 1970. */
export function readMs(value: Json): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
