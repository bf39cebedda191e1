/** What the service has stored, read by the key that records (scope `traces:read`). Errors are thrown here. */
import type {
  Project,
  Score,
  ScoreList,
  ScoreListQuery,
  TraceDetail,
  TraceList,
  TraceListQuery,
  TraceScoreList,
  TraceSummary
} from '../api-types.ts'
import { parse } from '../send/answer.ts'
import type { Transport } from '../send/transport.ts'

/** The service refused a request, or could not be asked. */
export class SpoorError extends Error {
  override readonly name = 'SpoorError'
  /** 0: no answer came. */
  readonly status: number
  readonly code: string | undefined
  readonly requestId: string | undefined

  constructor(status: number, text: string) {
    const { code, message, requestId } = (parse(text)?.error ?? {}) as Record<string, string | undefined>
    super(code === undefined ? (status === 0 ? text : `HTTP ${status}`) : `${code}: ${message}`)
    this.status = status
    this.code = code
    this.requestId = requestId
  }
}

type All<Query> = Omit<Query, 'after' | 'before'>

export class Traces {
  private readonly transport: Transport

  constructor(transport: Transport) {
    this.transport = transport
  }

  list(query: TraceListQuery = {}): Promise<TraceList> {
    return ask(this.transport, 'GET', `/api/v1/traces${queryText(query)}`)
  }

  /** Each trace that the filters match, page after page. */
  all(query: All<TraceListQuery> = {}): AsyncGenerator<TraceSummary, void, undefined> {
    return pages(
      after => this.list({ ...query, ...after }),
      page => page.traces
    )
  }

  get(traceId: string): Promise<TraceDetail> {
    return ask(this.transport, 'GET', `/api/v1/traces/${encodeURIComponent(traceId)}`)
  }

  scores(traceId: string): Promise<TraceScoreList> {
    return ask(this.transport, 'GET', `/api/v1/traces/${encodeURIComponent(traceId)}/scores`)
  }

  /** Merges metadata into a stored trace: each name replaces what was there under it. */
  async patchMetadata(traceId: string, metadata: Record<string, unknown>): Promise<void> {
    await ask(this.transport, 'PATCH', `/api/v1/traces/${encodeURIComponent(traceId)}`, { metadata })
  }

  /** Deletes a trace with its spans and scores; needs the scope `traces:delete`. */
  async delete(traceId: string): Promise<void> {
    await ask(this.transport, 'DELETE', `/api/v1/traces/${encodeURIComponent(traceId)}`)
  }
}

export class Scores {
  private readonly transport: Transport

  constructor(transport: Transport) {
    this.transport = transport
  }

  list(query: ScoreListQuery = {}): Promise<ScoreList> {
    return ask(this.transport, 'GET', `/api/v1/scores${queryText(query)}`)
  }

  all(query: All<ScoreListQuery> = {}): AsyncGenerator<Score, void, undefined> {
    return pages(
      after => this.list({ ...query, ...after }),
      page => page.scores
    )
  }
}

export const readProject = (transport: Transport): Promise<Project> => ask(transport, 'GET', '/api/v1/project')

async function* pages<Page extends { readonly nextCursor: string | null }, Item>(
  read: (after: { after?: string }) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[]
): AsyncGenerator<Item, void, undefined> {
  for (let after: { after?: string } = {}; ; ) {
    const page = await read(after)
    yield* itemsOf(page)
    if (page.nextCursor === null) return
    after = { after: page.nextCursor }
  }
}

function queryText(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`
}

async function ask<T>(
  transport: Transport,
  method: 'GET' | 'PATCH' | 'DELETE',
  path: string,
  body?: object
): Promise<T> {
  const { status, text } = await transport.send(method, path, body === undefined ? undefined : JSON.stringify(body))
  if (status !== 200) throw new SpoorError(status, text)
  return JSON.parse(text)
}
