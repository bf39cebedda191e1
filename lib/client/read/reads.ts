/** What the service has stored, read by the key that records (scope `traces:read`). Errors are thrown here. */
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

/** Asks the service. `given`: the query of a GET, the body of a PATCH. */
export type Ask = <T>(method: 'GET' | 'PATCH' | 'DELETE', path: string, given?: object) => Promise<T>

type All<Query> = Omit<Query, 'after' | 'before'>

class List<Query extends object, Page extends { readonly nextCursor: string | null }, Item> {
  protected readonly ask: Ask
  protected readonly path: string
  private readonly itemsOf: (page: Page) => readonly Item[]

  constructor(ask: Ask, path: string, itemsOf: (page: Page) => readonly Item[]) {
    this.ask = ask
    this.path = path
    this.itemsOf = itemsOf
  }

  list(query?: Query): Promise<Page> {
    return this.ask('GET', this.path, query)
  }

  /** Each one that the filters match, page after page. */
  async *all(query?: All<Query>): AsyncGenerator<Item, void, undefined> {
    for (let after: string | null | undefined; after !== null; ) {
      const page = await this.list({ ...query, ...(after && { after }) } as Query)
      yield* this.itemsOf(page)
      after = page.nextCursor
    }
  }
}

export class Traces extends List<TraceListQuery, TraceList, TraceSummary> {
  constructor(ask: Ask) {
    super(ask, '/api/v1/traces', page => page.traces)
  }

  get(traceId: string): Promise<TraceDetail> {
    return this.ask('GET', this.pathOf(traceId))
  }

  scores(traceId: string): Promise<TraceScoreList> {
    return this.ask('GET', `${this.pathOf(traceId)}/scores`)
  }

  /** Merges metadata into a stored trace: each name replaces what was there under it. */
  async patchMetadata(traceId: string, metadata: Record<string, unknown>): Promise<void> {
    await this.ask('PATCH', this.pathOf(traceId), { metadata })
  }

  /** Deletes a trace with its spans and scores; needs the scope `traces:delete`. */
  async delete(traceId: string): Promise<void> {
    await this.ask('DELETE', this.pathOf(traceId))
  }

  private pathOf(traceId: string): string {
    return `${this.path}/${encodeURIComponent(traceId)}`
  }
}

export class Scores extends List<ScoreListQuery, ScoreList, Score> {
  constructor(ask: Ask) {
    super(ask, '/api/v1/scores', page => page.scores)
  }
}
