/** A tool: its listing in the protocol, and its function. */

import type { TObject, TProperties } from 'typebox'
import type { RequestOf } from '../http/route.ts'
import type { Scope } from '../schema/scopes.ts'
import type { Gathered } from './gathered.ts'
import type { Result } from './long-result.ts'

/** A tool as tools/list shows it. */
export interface ToolListing {
  readonly name: string
  readonly title: string
  /** Tells an agent what the tool is for, and when another tool is better. */
  readonly description: string
  readonly inputSchema: object
  readonly outputSchema: object
  readonly annotations: Annotations
}

/** Hints by which a client decides whether to ask its user first. */
export interface Annotations {
  readonly readOnlyHint: boolean
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
  /** False, because the tool acts on nothing but this service. */
  readonly openWorldHint: false
}

export interface ToolCall {
  readonly args: Arguments
  /** The arguments with every number as it was sent; the same object if doubles hold all of them. */
  readonly exactArgs: Arguments
  /** Whether `exactArgs` may hold LosslessNumbers. */
  readonly inexact: boolean
  /** The text of the arguments if they were too large to be parsed. It is used in their place. */
  readonly payload: Uint8Array | undefined
  /** The HTTP request that brought the call. */
  readonly request: RequestOf<unknown>
  /** The results that the calls of that request have gathered. */
  readonly gathered: Gathered
}
export type Arguments = Readonly<Record<string, unknown>>

export interface Tool {
  readonly scope: Scope
  readonly listing: ToolListing
  /** The result, a JSON object. Throws a Refusal as a route's handler does. */
  call(call: ToolCall): Promise<Result> | Result
}

/** Arguments of a tool beyond those of its route, which change the route's answer. */
export interface ToolView<P extends TProperties = TProperties> {
  readonly options: TObject<P>
  /** The schemas of the answers that it can make. */
  readonly outputs: readonly TObject[]
  /** Throws a Refusal if options cannot be combined. */
  check(options: Arguments): void
  /** Whether the tool answers with the route's answer as it is, however long. */
  isWhole(options: Arguments): boolean
  /** Turns the text of the route's answer into the text of the tool's answer. */
  show(answer: string, options: Arguments): string
}
