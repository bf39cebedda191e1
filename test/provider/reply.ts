/** Types of the provider's routes and replies. */
import type { Model } from './answer.ts'

/**
 * One JSON document, or a stream of events. `event` is the event's type, which some providers send on a separate line.
 */
export type Reply = { readonly json: unknown } | { readonly events: readonly ServerSentEvent[] }

export interface ServerSentEvent {
  readonly event?: string
  readonly data: unknown
}

// biome-ignore lint/suspicious/noExplicitAny: routes read arbitrary members of request bodies.
export type Body = any

/** Creates unique ids, as providers do, so that libraries that count calls can distinguish them. */
export type NewId = (prefix: string) => string

export type Route = (body: Body, newId: NewId, model: Model) => Reply
