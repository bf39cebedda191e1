/**
 * Asks the routes themselves, in this process and beside a database, without a server. A request is validated and
 * handled by the same route objects as over HTTP, so both ways accept and answer the same.
 */
import { requireProject } from '../../lib/admin/projects.ts'
import type { App, Plugin } from '../../lib/app.ts'
import type { ConnectOptions } from '../../lib/database/database.ts'
import { Pool } from '../../lib/database/pool.ts'
import { READER_SETTINGS } from '../../lib/database/reader-settings.ts'
import { createSqlAccess, type SqlAccess } from '../../lib/database/sql-access.ts'
import { Refusal } from '../../lib/errors.ts'
import { readPathId } from '../../lib/http/path-id.ts'
import { JsonPieces, JsonStream, JsonText, NOBODY, type Route } from '../../lib/http/route.ts'
import { RouteTable } from '../../lib/http/route-table.ts'
import { textWriter } from '../../lib/limits/list-writer.ts'
import type { Principal } from '../../lib/schema/principal.ts'
import { SCOPES } from '../../lib/schema/scopes.ts'
import { noteSystemUser } from '../../lib/store/audit.ts'
import { parse } from '../../lib/threads/parsing.ts'
import dashboard from '../../plugins/dashboard/index.ts'
import docs from '../../plugins/docs.ts'
import health from '../../plugins/health.ts'
import { plugins } from '../../plugins/index.ts'
import mcp from '../../plugins/mcp/index.ts'
import meta from '../../plugins/meta.ts'
import metrics from '../../plugins/metrics.ts'
import openapi from '../../plugins/openapi.ts'
import otlp from '../../plugins/otlp/index.ts'
import type { DatabaseSession } from '../database.ts'
import type { Asker, Method } from './asker.ts'
import { failureOf } from './failure.ts'

/** Plugins whose routes no command asks. They need more of the App than the routes that read. */
const OTHERS: readonly Plugin[] = [meta, openapi, otlp, mcp, docs, dashboard, health, metrics]
/** As in the server (lib/service.ts). One command asks one question at a time. */
const STATEMENT_TIMEOUT_MS = 15_000
const CONNECTIONS = 2

export class DatabaseAsker implements Asker {
  readonly #routes: RouteTable
  readonly #pools: readonly Pool[]
  readonly #key: Principal
  readonly #location: string

  private constructor(routes: RouteTable, pools: readonly Pool[], key: Principal, location: string) {
    this.#routes = routes
    this.#pools = pools
    this.#key = key
    this.#location = location
  }

  static async open(session: DatabaseSession, slug: string): Promise<DatabaseAsker> {
    const { config, database, log, systemUser, sql } = session
    const projectId = await requireProject(sql, slug)
    const open = (options: ConnectOptions) =>
      new Pool(onClose => database.connect({ ...options, onClose }), {
        size: CONNECTIONS,
        statementTimeoutMs: STATEMENT_TIMEOUT_MS,
        limit: database.limit
      })
    const common = { applicationName: 'command', statementTimeoutMs: STATEMENT_TIMEOUT_MS }
    const readers = open({ ...common, settings: READER_SETTINGS })
    const writers = open(common)
    const access = createSqlAccess(readers, writers)
    const write: SqlAccess['write'] = work =>
      access.write(async (each, attempts) => {
        await noteSystemUser(each, systemUser)
        return work(each, attempts)
      })
    const routes = new RouteTable()
    const atOnce = { run: <T>(_party: number, work: () => Promise<T>) => work() }
    const app: Partial<App> = {
      config,
      log,
      sql: { ...access, write },
      largeReads: atOnce,
      streams: atOnce,
      bodies: { parse: async (name, body) => parse(name, body) },
      routes: routes.routes,
      route: route => routes.add(route as unknown as Route)
    }
    // The routes that need the other members record, which commands do not.
    for (const plugin of plugins.filter(each => !OTHERS.includes(each))) await plugin(app as App)
    const key = {
      // The audit log names the operating system user instead of a key.
      keyId: undefined as never,
      label: 'command',
      projectId,
      scopes: SCOPES,
      environment: null,
      trialAccountId: null,
      expiresAt: null,
      lastUsedAt: new Date().toISOString()
    }
    return new DatabaseAsker(routes, [readers, writers], key, database.location)
  }

  async ask(method: Method, path: string, body?: object): Promise<string> {
    try {
      return await this.#answer(method, path, body)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      throw failureOf(error, this.#location, 'this command')
    }
  }

  async #answer(method: Method, path: string, body: object | undefined): Promise<string> {
    const match = this.#routes.find(method, path)
    if (match === undefined) throw new Error(`no route answers ${method} ${path}`)
    const { endpoint, params, querystring } = match
    const { traceId, scoreId } = params
    const request = {
      ...NOBODY,
      requestId: '',
      key: this.#key,
      traceId: traceId === undefined ? '' : readPathId('traceId', traceId),
      scoreId: scoreId === undefined ? '' : readPathId('scoreId', scoreId),
      params,
      query: endpoint.readQuery?.(querystring) ?? {},
      querystring,
      payload: body === undefined ? new Uint8Array() : Buffer.from(JSON.stringify(body)),
      headers: {},
      localPort: 0,
      baseUrl: '',
      signal: new AbortController().signal
    }
    const reply = await endpoint.route.handler(request)
    return textOf(reply.body)
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map(pool => pool.end()))
  }
}

async function textOf(body: unknown): Promise<string> {
  if (body instanceof JsonText) return body.text
  if (body instanceof JsonPieces) return Buffer.concat(body.pieces).toString()
  if (!(body instanceof JsonStream)) return JSON.stringify(body)
  const parts: Buffer[] = []
  await body.send(
    textWriter(async part => void parts.push(Buffer.from(part, 'latin1'))),
    () => true
  )
  return Buffer.concat(parts).toString()
}
