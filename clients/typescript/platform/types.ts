/** The platform's parts that the client uses. The folders node and edge provide them. */
import type { Step } from '../record/step.ts'
import type { ServerAnswer } from '../send/answer.ts'

/** Carries the current step through asynchronous calls, as AsyncLocalStorage does. */
export interface Context {
  run<R>(step: Step, act: () => R): R
  getStore(): Step | undefined
}

export type PlatformVariables = Readonly<Record<string, string | undefined>>

export interface Platform {
  readonly environment: PlatformVariables
  /** Reason why nothing can be recorded on this platform, if any. */
  readonly obstacle: string | undefined
  warn(text: string): void
  newContext(): Context
  /** Returns an absolute path; undefined if there are no files. */
  absolutePath(path: string): string | undefined
}

export interface Outgoing {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** Whether the process may end before the response arrives. */
  readonly isBackground: boolean
  readonly signal: AbortSignal
}

export interface Wire {
  /** Sends a request and returns the response. Rejects with the reason if there is none. */
  send(exchange: Outgoing): Promise<ServerAnswer>
  close(): void
}
