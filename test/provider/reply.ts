/** Types of the provider's routes and of their replies. */
import type { Model } from './answer.ts'

/** One JSON document, or a stream of events; `event` is the type that its line says, where the provider names it. */
export type Reply = { readonly json: unknown } | { readonly events: readonly ServerSentEvent[] }

export interface ServerSentEvent {
  readonly event?: string
  readonly data: unknown
}

// biome-ignore lint/suspicious/noExplicitAny: the body of a request that clients have made, not people.
export type Body = any

/** Makes ids that are used once, as providers do: whoever counts calls tells them apart by these. */
export type NewId = (prefix: string) => string

export type Route = (body: Body, newId: NewId, model: Model) => Reply
