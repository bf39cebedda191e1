/**
 * A route, the request passed to its handler, and the reply that the handler returns. Validation, the OpenAPI document,
 * the docs page, the MCP tool and the metrics label of an operation all derive from its route object.
 */
import type { Static, TObject, TSchema } from 'typebox'
import type { ErrorCode } from '../errors.ts'
import type { ListWriter } from '../limits/list-writer.ts'
import type { PersonAccess, VisitedProject, Visitor } from '../people/visit.ts'
import type { Access, Principal } from '../schema/principal.ts'

export interface RequestOf<Q> {
  readonly requestId: string
  /** The key's principal, on API routes that require a key. */
  readonly key: Principal
  /** The signed-in person, on routes that require a person. May be undefined on routes for guests. */
  readonly visitor: Visitor
  /** The project named by the parameter :slug, on routes that require a person. */
  readonly project: VisitedProject
  /** Path ids, validated and in lower case. */
  readonly traceId: string
  readonly scoreId: string
  readonly spanId: string
  /** All path parameters, decoded but not validated. */
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: Q
  /** The query as sent, without `?`, for handlers that parse the query themselves. */
  readonly querystring: string
  /** The decoded body. */
  readonly payload: Uint8Array
  /** The request's headers, with lower-case names, for the few routes that need them (If-None-Match, Origin). */
  readonly headers: NodeJS.Dict<string | string[]>
  readonly localPort: number
  /** The address of the connection's peer: the client or a proxy. */
  readonly peer: string
  /** The client's address, as reported by trusted proxies (TRUST_PROXY). */
  readonly client: string
  /** Public URL of this server (BASE_URL, or derived from the Host header), without a trailing slash. */
  readonly baseUrl: string
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
  /** Id of the request's project; undefined if the request belongs to no project. */
  readonly party: number | undefined
}

/**
 * Placeholders for fields of requests that no person makes, such as tool calls. The routes of such requests do not read
 * these fields.
 */
export const NOBODY: Pick<
  RequestOf<unknown>,
  'visitor' | 'project' | 'spanId' | 'params' | 'querystring' | 'peer' | 'client' | 'party'
> = {
  visitor: undefined as never,
  project: undefined as never,
  spanId: '',
  params: {},
  querystring: '',
  peer: '',
  client: '',
  party: undefined
}

/** A body that is already JSON text and is sent unchanged. */
export class JsonText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** A body that is JSON text in UTF-8 and too long for a single string. No piece ends within a JSON string. */
export class JsonPieces {
  readonly pieces: readonly Uint8Array[]
  readonly byteLength: number
  constructor(pieces: readonly Uint8Array[]) {
    this.pieces = pieces
    this.byteLength = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
  }
}

/**
 * A body of JSON text that is too long to be in memory at once and contains one long list. The `send` function passes
 * the parts of the body to the writer. `send` may throw a Refusal before the first part. Each character of a part
 * stands for one byte of UTF-8.
 *
 * `needs` returns whether an item is needed whole, given its id and the number of items. Other items may lack free-form
 * JSON.
 */
export class JsonStream {
  readonly send: (writer: ListWriter, needs?: (id: string, count: number) => boolean) => Promise<void>
  constructor(send: JsonStream['send']) {
    this.send = send
  }
}

/** A non-JSON body with its media type. */
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
  /** If the value is a list, the header is sent once per item. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** A value to serialise, JSON text, other content, or `undefined` for an empty body. */
  readonly body?: unknown
}

export interface RouteOptions<Q extends TObject = TObject> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'OPTIONS'
  /** A path in find-my-way's syntax. API paths have no parameters except :traceId, :scoreId and :sessionId. */
  readonly path: string
  /** The operationId in the OpenAPI document; undefined for undocumented routes (docs page, health, MCP, dashboard). */
  readonly operation?: string
  readonly access: Access | PersonAccess
  /** Headers of all the route's responses, including errors. */
  readonly answerHeaders?: Readonly<Record<string, string>>
  /** Runs before the key is checked. Throws a Refusal or returns headers for every response to the request. */
  guard?(request: Pick<RequestOf<unknown>, 'headers' | 'localPort'>): Readonly<Record<string, string>>
  /**
   * Converts the Authorization header to `Bearer KEY`. Set if clients of this route also send other forms of the
   * header.
   */
  readonly readAuthorization?: (header: string | undefined) => string | undefined
  readonly summary: string
  readonly description?: string
  readonly query?: Q
  /** Schema of the body, for the OpenAPI document and the tools. */
  readonly body?: TSchema
  /** Maximum size of the decoded body, in bytes. Defaults to MAX_BODY_BYTES. */
  readonly maxBodyBytes?: number
  /**
   * A non-JSON media type that the body may have. The response then has the same type, and error bodies are
   * `google.rpc.Status` (lib/http/otlp/rpc-status.ts). The fields `body`, `reply` and `error` are descriptions for the
   * OpenAPI document.
   */
  readonly binary?: { readonly type: string; readonly body: string; readonly reply: string; readonly error: string }
  /**
   * The gRPC method, `/package.Service/Method`, that the handler also serves. The handler receives the message as
   * `payload` with `binary`'s Content-Type, and returns Content.
   */
  readonly grpc?: string
  /** Set if the route takes a body. The handler receives the bytes as `payload` and has a worker thread parse them. */
  readonly takesBody?: true
  /** Schemas of success replies, by status. */
  readonly replies: Readonly<Record<number, TSchema>>
  /** Descriptions of success statuses, by status. A status with a description but no schema has no body. */
  readonly outcomes?: Readonly<Record<number, string>>
  /**
   * Operations whose parameters can be taken from a success reply. A JSON pointer locates the value of each parameter
   * in the reply.
   */
  readonly links?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Descriptions of success replies' headers, by name, except the headers of every response. */
  readonly headers?: Readonly<Record<string, string>>
  /** Error codes of this route, in addition to the codes of every route (401, 403, 404 for a path id, 500). */
  readonly errors?: readonly ErrorCode[]
  handler(request: RequestOf<Static<Q>>): Promise<Reply> | Reply
}
export type Route = RouteOptions

/** Returns whether per-project limits count the route as a read. An MCP message may both read and write. */
export const isRead = ({ access, method }: Pick<Route, 'access' | 'method'>): boolean =>
  access === 'key' || access === 'traces:read' || method === 'GET'
