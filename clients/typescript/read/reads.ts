/** Reads stored data with the client's key, which needs the scope `traces:read`. Throws on failure. */
import type {
  Score,
  ScoreList,
  ScoreListQuery,
  TraceDetail,
  TraceList,
  TraceListQuery,
  TraceScoreList,
  TraceSummary
} from '../api-types.ts'

/** Sends a request. `given` is the query of a GET or the body of a PATCH. */
export type Ask = <T>(method: 'GET' | 'PATCH' | 'DELETE', path: string, given?: object) => Promise<T>

const TRACES = '/api/v1/traces'

const tracePath = (traceId: string) => `${TRACES}/${encodeURIComponent(traceId)}`

/** Thrown when the service rejects a request or cannot be reached. */
export class SpoorError extends Error {
  override readonly name = 'SpoorError'
  /** HTTP status; 0 if no response arrived. */
  readonly status: number
  readonly code: string | undefined
  readonly requestId: string | undefined

  constructor(message: string, status: number, code?: string, requestId?: string) {
    super(message)
    this.status = status
    this.code = code
    this.requestId = requestId
  }
}

class List<Query extends object, Page extends { readonly nextCursor: string | null }, Item> {
  protected readonly ask: Ask
  readonly #path: string
  readonly #itemsOf: (page: Page) => readonly Item[]

  constructor(ask: Ask, path: string, itemsOf: (page: Page) => readonly Item[]) {
    this.ask = ask
    this.#path = path
    this.#itemsOf = itemsOf
  }

  list(query?: Query): Promise<Page> {
    return this.ask('GET', this.#path, query)
  }

  /** Yields each item that matches the filters, page by page. */
  async *all(query?: Omit<Query, 'after' | 'before'>): AsyncGenerator<Item, void, undefined> {
    for (let after: string | null | undefined; after !== null; ) {
      const page = await this.list({ ...query, ...(after && { after }) } as Query)
      yield* this.#itemsOf(page)
      after = page.nextCursor
    }
  }
}

export class Traces extends List<TraceListQuery, TraceList, TraceSummary> {
  constructor(ask: Ask) {
    super(ask, TRACES, page => page.traces)
  }

  get(traceId: string): Promise<TraceDetail> {
    return this.ask('GET', tracePath(traceId))
  }

  scores(traceId: string): Promise<TraceScoreList> {
    return this.ask('GET', `${tracePath(traceId)}/scores`)
  }

  /** Merges metadata into a stored trace. A new value replaces the previous value of the same name. */
  async patchMetadata(traceId: string, metadata: Record<string, unknown>): Promise<void> {
    await this.ask('PATCH', tracePath(traceId), { metadata })
  }

  /** Deletes a trace with its spans and scores. Needs the scope `traces:delete`. */
  async delete(traceId: string): Promise<void> {
    await this.ask('DELETE', tracePath(traceId))
  }
}

export class Scores extends List<ScoreListQuery, ScoreList, Score> {
  constructor(ask: Ask) {
    super(ask, '/api/v1/scores', page => page.scores)
  }

  /** Needs the scope `traces:delete`. */
  async delete(traceId: string, scoreId: string): Promise<void> {
    await this.ask('DELETE', `${tracePath(traceId)}/scores/${encodeURIComponent(scoreId)}`)
  }
}
