/**
 * Derives trace and span ids from coding agents' own ids. A session's log records and its imported transcript yield the
 * same ids and therefore form one trace.
 */
import { createHash } from 'node:crypto'

export type StepKind = 'prompt' | 'request' | 'tool'

const digitsOf = (parts: readonly string[], count: number): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, count)

/** Returns the trace id for a prompt in a session. */
export const traceIdOf = (session: string, prompt: string): string => digitsOf(['trace', session, prompt], 32)

/** Returns the span id for a prompt, a model request or a tool use. */
export const stepIdOf = (session: string, kind: StepKind, callId: string): string =>
  digitsOf(['step', session, kind, callId], 16)
