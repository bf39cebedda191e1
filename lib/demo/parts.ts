/** Defines the demo traces' type and generates their ids and times. */
import { randomBytes } from 'node:crypto'
import type { EndBody, IngestBody, ScoreInput, SpanInput } from '../schema/input.ts'

/** The environments of the demo's own keys. */
export const DEMO_ENVIRONMENTS = ['production', 'staging', 'development'] as const
export type DemoEnvironment = (typeof DEMO_ENVIRONMENTS)[number]

export interface DemoTrace {
  readonly body: IngestBody
  /** Spans that arrive later, as in a running trace. */
  readonly appended?: readonly SpanInput[]
  readonly end?: EndBody
  readonly scores?: readonly ScoreInput[]
  /** The environment of the key that records the trace, if the demo makes its own keys. */
  readonly environment?: DemoEnvironment
}

/** Returns a function that formats a time given in ms after the start. */
export function clock(startMs: number): (ms: number) => string {
  return ms => new Date(startMs + Math.round(ms)).toISOString()
}
export function traceId(): string {
  return randomBytes(16).toString('hex')
}
export function spanId(): string {
  return randomBytes(8).toString('hex')
}
