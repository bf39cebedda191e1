/**
 * A route, the request that its handler is given, and the reply that the handler returns. Validation, the OpenAPI
 * document, the docs page, the MCP tool and the metrics label of an operation all follow from its route object.
 */
import type { Static, TObject, TSchema } from 'typebox'
import type { ErrorCode } from '../errors.ts'
import type { PersonAccess, VisitedProject, Visitor } from '../people/visit.ts'
import type { Access, Principal } from '../schema/principal.ts'

/** The request as a handler gets it. */
export interface RequestOf<Q> {
  readonly requestId: string
  /** Whose key it is, on routes of the API that ask for one. */
  readonly key: Principal
  /** The person who is signed in, on routes that ask for a person. On routes for guests it may be undefined. */
  readonly visitor: Visitor
  /** The project of the parameter :slug, on routes that ask for a person. */
  readonly project: VisitedProject
  /** Path ids, checked and folded to lower case. */
  readonly traceId: string
  readonly scoreId: string
  readonly spanId: string
  /** All parameters of the path as they were sent, decoded. */
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: Q
  /** The query as it was sent, without `?`, for routes that leave it to others to check. */
  readonly querystring: string
  /** The decoded bytes of the body. */
  readonly payload: Uint8Array
  /** The request's headers, in lower case, for the few routes that need them (If-None-Match, Origin). */
  readonly headers: NodeJS.Dict<string | string[]>
  /** The port on which the request came in. */
  readonly localPort: number
  /** The address at the other end of the connection: the client, or a proxy. */
  readonly peer: string
  /** The client's address, as far as trusted proxies say it (TRUST_PROXY). */
  readonly client: string
  /** Scheme and authority under which this server was reached (BASE_URL, or the Host header), without a slash. */
  readonly baseUrl: string
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal
  /** The id of the project that the request is about; undefined if it is about none. */
  readonly party: number | undefined
}

/**
 * Empty values for requests that do not come from a person over HTTP, such as tool calls. Their routes do not read
 * them.
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

/** A body that is JSON text already. It is sent as it is. */
export class JsonText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/**
 * A body that is JSON text already, and too long to be one string: bytes in UTF-8. No piece ends within a string of the
 * JSON.
 */
export class JsonPieces {
  readonly pieces: readonly Uint8Array[]
  readonly byteLength: number
  constructor(pieces: readonly Uint8Array[]) {
    this.pieces = pieces
    this.byteLength = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
  }
}

/** A body that is not JSON, with its media type. */
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
  /** A list: the header stands once for each. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** A value to serialise, JSON text, other content, or undefined for an empty body. */
  readonly body?: unknown
}

export interface RouteOptions<Q extends TObject = TObject> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'OPTIONS'
  /** A path in the form of find-my-way. Those of the API have no parameters but :traceId and :scoreId. */
  readonly path: string
  /**
   * The operationId in the OpenAPI document. Routes that the document does not list (docs page, health, MCP, the
   * dashboard) have none.
   */
  readonly operation?: string
  readonly access: Access | PersonAccess
  /** Headers of every answer, errors included. */
  readonly answerHeaders?: Readonly<Record<string, string>>
  /**
   * Looks at a request before its key is checked. Throws a Refusal, or returns headers for every answer to the
   * request.
   */
  guard?(request: Pick<RequestOf<unknown>, 'headers' | 'localPort'>): Readonly<Record<string, string>>
  /** Gives the Authorization header as `Bearer KEY`, if clients of this route send it in other forms as well. */
  readonly readAuthorization?: (header: string | undefined) => string | undefined
  readonly summary: string
  readonly description?: string
  readonly query?: Q
  /** The schema of the body, for the OpenAPI document and the tools. */
  readonly body?: TSchema
  /** The limit of the decoded body, in bytes. MAX_BODY_BYTES if it is left out. */
  readonly maxBodyBytes?: number
  /**
   * A media type other than JSON that the body can have, and the answer then has, errors included. The texts describe
   * them. Errors are then `google.rpc.Status` (lib/http/otlp/rpc-status.ts).
   */
  readonly binary?: { readonly type: string; readonly body: string; readonly reply: string; readonly error: string }
  /**
   * The method of gRPC, `/package.Service/Method`, that the handler answers as well. It is given the message as
   * `payload`, with the Content-Type of `binary`, and answers with Content.
   */
  readonly grpc?: string
  /** Set if the route takes a body. The handler gets its bytes as `payload`, and has them parsed on a worker thread. */
  readonly takesBody?: true
  /** The schemas of success replies, by status. */
  readonly replies: Readonly<Record<number, TSchema>>
  /** Descriptions of success statuses, by status. A status that has a description but no schema has no body. */
  readonly outcomes?: Readonly<Record<number, string>>
  /**
   * Operations that take what a success reply holds: the operation, its parameter, and where in the reply the value of
   * the parameter stands (a JSON pointer).
   */
  readonly links?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Descriptions of the headers of success replies, by name, beyond those of every answer. */
  readonly headers?: Readonly<Record<string, string>>
  /** Codes that the route may refuse with, beyond those that every route may (401, 403, 404 of a path id, 500). */
  readonly errors?: readonly ErrorCode[]
  handler(request: RequestOf<Static<Q>>): Promise<Reply> | Reply
}
export type Route = RouteOptions

/** Whether a route reads, as far as its requests are bounded by project. A message to the tools may do both. */
export const isRead = ({ access, method }: Pick<Route, 'access' | 'method'>): boolean =>
  access === 'key' || access === 'traces:read' || method === 'GET'
