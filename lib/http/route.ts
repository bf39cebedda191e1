/**
 * A route, the request that its handler is given and the reply that it gives. The route object is the only source of
 * validation, the OpenAPI document, the docs page, the MCP tool and the metrics label of its operation.
 */
import type { Static, TObject, TSchema } from 'typebox'
import type { Access, Principal } from '../access/principal.ts'
import type { ErrorCode } from '../errors.ts'

/** What a handler is given. `key` stands for routes with an access other than `public`. */
export interface RequestOf<Q> {
  readonly requestId: string
  readonly key: Principal
  /** Path ids, checked and folded to lower case. */
  readonly traceId: string
  readonly scoreId: string
  readonly query: Q
  /** The decoded bytes of the body. */
  readonly payload: Uint8Array
  /** The request's headers, in lower case, for the few routes that need them (If-None-Match, Origin). */
  readonly headers: NodeJS.Dict<string | string[]>
  /** The port on which the request came in. */
  readonly localPort: number
  /** Scheme and authority under which this server was reached (BASE_URL, or the Host header), without a slash. */
  readonly baseUrl: string
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal
}

/** JSON text made elsewhere (by the store, or by hand), sent as it is. */
export class JsonText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Any other body, with its media type. */
export class Content {
  readonly type: string
  readonly bytes: string | Uint8Array
  constructor(type: string, bytes: string | Uint8Array) {
    this.type = type
    this.bytes = bytes
  }
}

export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A value to serialise, JSON text, other content, or undefined for an empty body. */
  readonly body?: unknown
}

export interface RouteOptions<Q extends TObject = TObject> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'OPTIONS'
  /** find-my-way form; the only parameters are :traceId and :scoreId. */
  readonly path: string
  /** The operationId of the OpenAPI document; left out for what the document does not list (docs page, health, MCP). */
  readonly operation?: string
  readonly access: Access
  /** Looks at a request before its key is: throws a Refusal, or gives headers that every answer to it will carry. */
  guard?(request: Pick<RequestOf<unknown>, 'headers' | 'localPort'>): Readonly<Record<string, string>>
  readonly summary: string
  readonly description?: string
  readonly query?: Q
  /** What a body must be: for the OpenAPI document and the tools. */
  readonly body?: TSchema
  /** Decoded bytes of the body; left out: MAX_BODY_BYTES. */
  readonly maxBodyBytes?: number
  /** Another encoding than JSON in which the body may come, and is answered then; what body and answer are there. */
  readonly binary?: { readonly type: string; readonly body: string; readonly reply: string }
  /** The route takes a body: the handler is given it as `payload`, and has it read and checked where it holds up no others. */
  readonly takesBody?: true
  /** Success replies: status to schema. */
  readonly replies: Readonly<Record<number, TSchema>>
  /** What a success status means, where that is not plain. A status that stands only here has no body. */
  readonly outcomes?: Readonly<Record<number, string>>
  /**
   * Operations that take what a success reply holds: the operation, its parameter, and where in the reply the value of
   * the parameter stands (a JSON pointer).
   */
  readonly links?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Headers of the success replies, name to description: those beyond, or instead of, what every answer carries. */
  readonly headers?: Readonly<Record<string, string>>
  /** What may be refused beyond what every route shares (not_found of the path id, 401, 403 scope, 500 …). */
  readonly errors?: readonly ErrorCode[]
  handler(request: RequestOf<Static<Q>>): Promise<Reply> | Reply
}
export type Route = RouteOptions
