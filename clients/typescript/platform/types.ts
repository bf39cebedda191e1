/** What the client needs from the platform that it runs on. node.ts and edge.ts provide it. */
import type { Step } from '../record/step.ts'
import type { ServerAnswer } from '../send/answer.ts'

/** Carries the current step through asynchronous calls, as AsyncLocalStorage does. */
export interface Context {
  run<R>(step: Step, act: () => R): R
  getStore(): Step | undefined
}

export interface Exchange {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** Whether the process may end before the response arrives. */
  readonly isBackground: boolean
  readonly signal: AbortSignal
}

/** Sends a request and returns the response. Rejects with the reason if there is none. */
export type Send = (exchange: Exchange) => Promise<ServerAnswer>

export type Environment = Readonly<Record<string, string | undefined>>
