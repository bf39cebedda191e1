/**
 * Defines the result of converting a coding agent's transcript: finished steps, each of which becomes a span.
 *
 * A transcript grows while its agent works, and is imported again and again. A step therefore depends only on the lines
 * up to the one that finishes it, and is returned once, complete. What a beginning of the transcript yields is what the
 * whole transcript yields for these lines, so a repeated import sends duplicates and never conflicts.
 */
import { MAX_JSON_DEPTH } from '../../schema/input.ts'
import { inspectText, type Json, parseInexact, plainNumber } from '../../trace/json/exact-json.ts'

export interface Transcript {
  /** Reads the next line, which is parsed JSON, and returns the steps that it finishes. */
  read(line: Json): readonly AgentStep[]
  /**
   * Returns the steps that are finished because the transcript has not grown for `quietMs`. If the transcript grows
   * later, it would have finished the same steps.
   */
  settle(quietMs: number): readonly AgentStep[]
  /** Whether a prompt has begun and is not finished. */
  readonly isOpen: boolean
}

export interface AgentStep {
  readonly traceId: string
  readonly spanId: string
  /** Undefined for the root of a trace. */
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

/** Undefined values are left out. */
export type StepAttributes = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** A message, and one of its parts, of OpenTelemetry's conventions for generative AI. */
export type ContentPart = { readonly type: string } & Readonly<Record<string, Json>>
export interface ModelMessage {
  readonly role: string
  readonly parts: readonly ContentPart[]
  readonly finish_reason?: string | undefined
}

export const NO_STEPS: readonly AgentStep[] = []

/** A transcript that has not grown for so long says nothing more about a model call that has ended. */
export const SHORT_QUIET_MS = 10_000
/** A transcript that has not grown for so long says nothing more about a model call whose end it does not state. */
export const LONG_QUIET_MS = 600_000

/** Longest error message, in characters. A tool's full output is in its result. */
const MAX_MESSAGE = 1000
export const shortened = (text: string): string => (text.length <= MAX_MESSAGE ? text : text.slice(0, MAX_MESSAGE))

type Fields = Readonly<Record<string, Json>>
const NOTHING: Fields = {}

/** Reads JSON of unknown shape: what is not of the asked type is empty or undefined. */
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
  // The text is inspected second, because only valid JSON can be.
  const { depth, inexact } = inspectText(text)
  if (depth > MAX_JSON_DEPTH) return undefined
  return inexact ? parseInexact(text) : value
}

/** Returns a time in milliseconds since 1970. */
export function readMs(value: Json): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
