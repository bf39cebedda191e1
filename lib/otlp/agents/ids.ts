/**
 * Derives the ids of a coding agent's traces from its own ids. A transcript and the program's telemetry therefore make
 * the same trace of a prompt, and a repeated import makes no second one.
 */
import { createHash } from 'node:crypto'

/** A prompt's whole run, one model call, or one tool call. */
export type StepKind = 'prompt' | 'request' | 'tool'

export const traceIdOf = (session: string, prompt: string): string => digest(['trace', session, prompt]).slice(0, 32)

/** `call` is the prompt's id, the provider's request or response id, or the tool call's id. */
export const stepIdOf = (session: string, kind: StepKind, call: string): string =>
  digest(['step', session, kind, call]).slice(0, 16)

const digest = (parts: readonly string[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex')
