/**
 * Ids of traces and spans that are made from what coding agents say of their calls. Log records and imported
 * transcripts have the same ids, so that both make one trace.
 */
import { createHash } from 'node:crypto'

export type StepKind = 'prompt' | 'request' | 'tool'

const digitsOf = (parts: readonly string[], count: number): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, count)

/** Returns the id of the trace of a prompt in a session. */
export const traceIdOf = (session: string, prompt: string): string => digitsOf(['trace', session, prompt], 32)

/** Returns the id of the span of a prompt, a model request or a tool use. */
export const stepIdOf = (session: string, kind: StepKind, callId: string): string =>
  digitsOf(['step', session, kind, callId], 16)
