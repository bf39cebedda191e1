/**
 * The contract between the server and its plugins. A plugin is a function that is given the App and registers routes on
 * it; a route object is the only source of validation, the OpenAPI document, the docs page, the MCP tool and the
 * metrics label of its operation.
 */
import type { Sql } from 'postgres'
import type { Static, TObject, TSchema } from 'typebox'
import type { Scope } from './access/keys.ts'
import type { Config } from './config.ts'
import type { ErrorCode } from './errors.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Encoding } from './otlp/request.ts'
import type { Reading, Readings } from './threads/parsing.ts'

/** Whom a request acts for: what its API key says. */
export interface Principal {
  readonly keyId: string
  readonly projectId: number
  readonly scopes: readonly Scope[]
  /** The environment label stamped on what the key records; null: unassigned. */
  readonly environment: string | null
  /** Set where the project's account is a trial account. */
  readonly trialAccountId: number | null
  /** ISO 8601, as in answers; null: never. */
  readonly expiresAt: string | null
  readonly lastUsedAt: string
}

/** What the attempts at one write know of each other. */
export interface Attempts {
  /**
   * Set while a statement that writes is under way. Where it is set when an attempt begins, the answer of an earlier one
   * was lost with its connection, and what that should have done, and is done, it did.
   */
  sent: boolean
}

/** The database as handlers see it. Both turn the database's refusals into the answers that decisions.md gives. */
export interface Store {
  /**
   * Runs queries that change nothing; tried again once on a lost connection, then 503 `unavailable`. Where a client is
   * given, such as the request, its queries are cancelled when it goes away.
   */
  read<T>(work: (sql: Sql) => Promise<T>, client?: Pick<RequestOf<unknown>, 'signal'>): Promise<T>
  /**
   * Runs work with one statement that writes, atomic by itself. After a lost connection it is tried again, and finds out
   * what became of the statement; a refusal of the store is 429 `quota_exhausted`.
   */
  write<T>(work: (sql: Sql, attempts: Attempts) => Promise<T>): Promise<T>
}

export interface Recorded {
  readonly traceId: string
  readonly spanCount: number
  readonly duplicate: boolean
  readonly running: boolean
}
export interface Appended {
  readonly traceId: string
  readonly added: number
  readonly duplicate: number
  readonly spanCount: number
}
export interface Ended {
  readonly traceId: string
  readonly duplicate: boolean
  readonly spanCount: number
}

/** What became of an export: 2xx whatever was refused of it. */
export interface Exported {
  readonly rejectedSpans: number
  /** Why, in a sentence; empty where nothing was refused. */
  readonly message: string
}

/** The write path (lib/ingest): bodies as decoded bytes in, committed outcomes out; refusals are thrown. */
export interface Ingest {
  record(key: Principal, body: Uint8Array): Promise<Recorded>
  append(key: Principal, traceId: string, body: Uint8Array): Promise<Appended>
  end(key: Principal, traceId: string, body: Uint8Array): Promise<Ended>
  /** Spans in OTLP: each trace by itself, whatever the others meet. */
  export(key: Principal, body: Uint8Array, encoding: Encoding): Promise<Exported>
  /** Reads JSON that is not a trace, on another thread where it is large. Throws a Refusal where it is not right. */
  read<K extends Reading>(kind: K, body: Uint8Array): Promise<Readings[K]>
  /**
   * Reserves room for a body of so many bytes, and for so many requests (1 where it is left out); throws
   * `quota_exhausted` where the queue is full.
   */
  admit(bytes: number, requests?: number): { release(): void }
  close(): Promise<void>
}

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

/** `public`: no key; `key`: any valid key; otherwise the scope that the key must have. */
export type Access = 'public' | 'key' | Scope

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
  readonly prepared?: true
  /** Success replies: status to schema. */
  readonly replies: Readonly<Record<number, TSchema>>
  /** What a success status means, where that is not plain. A status that stands only here has no body. */
  readonly outcomes?: Readonly<Record<number, string>>
  /** Headers of the success replies, name to description: those beyond, or instead of, what every answer carries. */
  readonly headers?: Readonly<Record<string, string>>
  /** What may be refused beyond what every route shares (not_found of the path id, 401, 403 scope, 500 …). */
  readonly errors?: readonly ErrorCode[]
  handler(request: RequestOf<Static<Q>>): Promise<Reply> | Reply
}
export type Route = RouteOptions

export interface App {
  readonly config: Config
  readonly log: Logger
  readonly store: Store
  readonly ingest: Ingest
  readonly metrics: Metrics
  readonly routes: readonly Route[]
  /** Why a write would be refused now, a few words for each reason; empty: writes are accepted. */
  readiness(): Promise<readonly string[]>
  route<Q extends TObject>(route: RouteOptions<Q>): void
}

/** Registers one resource's routes. The list is plugins/index.ts. */
export type Plugin = (app: App) => void | Promise<void>
