/** The form of the demo's traces, and the ids and times that they are given. */
import { randomBytes } from 'node:crypto'
import type { EndBody, IngestBody, ScoreInput, SpanInput } from '../schema/input.ts'

export interface DemoTrace {
  readonly body: IngestBody
  /** Spans that arrive later, as those of a running trace do. */
  readonly appended?: readonly SpanInput[]
  readonly end?: EndBody
  readonly scores?: readonly ScoreInput[]
}

/** Gives the timestamp of a moment, by its milliseconds after the start. */
export function clock(startMs: number): (ms: number) => string {
  return ms => new Date(startMs + Math.round(ms)).toISOString()
}
export function traceId(): string {
  return randomBytes(16).toString('hex')
}
export function spanId(): string {
  return randomBytes(8).toString('hex')
}
