/** Defines the types of tools and their listings. */
import type { TObject, TProperties } from 'typebox'
import type { RequestOf } from '../http/route.ts'
import type { Scope } from '../schema/scopes.ts'
import type { Gathered, Result } from './long-result.ts'

/** A tool's entry in tools/list. */
export interface ToolListing {
  readonly name: string
  readonly title: string
  /** States the tool's purpose and when another tool is better. */
  readonly description: string
  readonly inputSchema: object
  readonly outputSchema: object
  readonly annotations: Annotations
}

/** Hints that help a client decide whether to ask its user before a call. */
export interface Annotations {
  readonly readOnlyHint: boolean
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
  /** False, because the tool affects only this service. */
  readonly openWorldHint: false
}

/** A text that an agent can read. */
export interface Resource {
  readonly uri: string
  readonly name: string
  readonly title: string
  readonly description: string
  readonly mimeType: string
  readonly text: string
}

export interface ToolCall {
  readonly args: Arguments
  /**
   * The arguments with numbers exactly as sent. This is the same object as `args` if doubles can represent all numbers.
   */
  readonly exactArgs: Arguments
  /** Whether `exactArgs` may contain LosslessNumbers. */
  readonly inexact: boolean
  /** JSON text of arguments that were too large to parse, used instead of `args`. */
  readonly payload: Uint8Array | undefined
  /** The HTTP request that contains the call. */
  readonly request: RequestOf<unknown>
  /** Results of all calls in that request. */
  readonly gathered: Gathered
}
export type Arguments = Readonly<Record<string, unknown>>

export interface Tool {
  readonly scope: Scope
  readonly listing: ToolListing
  /** Returns a JSON object. Like a route's handler, throws a Refusal if the call is rejected. */
  call(call: ToolCall): Promise<Result> | Result
}

/** Additional tool arguments that change the route's response. */
export interface ToolView<P extends TProperties = TProperties> {
  /** The view's name, by which other threads find it (lib/mcp/views.ts). */
  readonly name: string
  readonly options: TObject<P>
  /** Schemas of the results that the view may return. */
  readonly outputs: readonly TObject[]
  /** The default of `limit`. It may differ from the route's, because agents have less room to read. */
  readonly usualLimit?: (args: Arguments) => number
  /** Throws a Refusal if the options cannot be combined. */
  check(options: Arguments): void
  /** Returns whether the tool's result is the route's whole response, however long. */
  isWhole(options: Arguments): boolean
  /** Converts the route's response to the tool's result, both as JSON text. */
  show(answer: string, options: Arguments): string
  /** Returns a reader for a response that is too long to be in memory. */
  partReader?(options: Arguments): PartReader
}

/** Builds a tool's result from the parts of a response (JsonStream in lib/http/route.ts). */
export interface PartReader {
  /** Returns whether an item of the response is needed whole, like JsonStream's `needs`. */
  needs(id: string, count: number): boolean
  /** Takes the text before the first item. */
  head(text: string): void
  /** Takes an item, without a comma. `bytes` is the number of bytes of the whole item. */
  item(text: string, bytes: number): void
  /** Takes the text after the last item. Returns the tool's result as JSON text. */
  foot(text: string): string
}
