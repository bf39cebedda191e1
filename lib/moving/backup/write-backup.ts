/** Implements `spoor backup`, which writes an instance's complete contents as of a single point in time. */
import { createHash, randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'
import type { Pool } from '../../database/pool.ts'
import type { ExportPage } from '../../store/answers/export-page.ts'
import { countProject, type InstanceHead, readHead } from '../../store/instance/backup-head.ts'
import { readAuditRows, readAuthors, readStrayMessages } from '../../store/instance/long-tables.ts'
import { hasStoredPages, readNextPage } from '../../store/instance/stored-pages.ts'
import { VERSION } from '../../version.ts'
import { exportPages } from '../export-project.ts'
import {
  addSums,
  BACKUP_FORMAT,
  type BackupCounts,
  encodePage,
  type LineName,
  type LineOf,
  lineOf,
  type Manifest,
  NOTHING,
  noSums
} from './format.ts'

/** Called after each step with the counts so far and the expected counts. */
export type OnBackedUp = (counts: Readonly<BackupCounts>, expected: Manifest['counts']) => void

/**
 * Makes a backup and passes the backup's bytes to the `send` callback. A single transaction reads all data as of the
 * transaction's start and never blocks writers. A page has at most `pageTraces` traces.
 */
export async function backUp(
  pool: Pool,
  schema: number,
  send: (bytes: AsyncIterable<Buffer>) => Promise<void>,
  onProgress?: OnBackedUp,
  pageTraces?: number
): Promise<BackupCounts> {
  return pool.transaction(async sql => {
    // The transaction is idle while the output's reader is slow, and must not be ended for that reason.
    await sql.unsafe('set local idle_in_transaction_session_timeout = 0')
    await sql.unsafe('set local statement_timeout = 0')
    const backup = new Backup(sql, schema, pageTraces, onProgress)
    await send(backup.write())
    return backup.counts
  }, 'isolation level repeatable read read only')
}

class Backup {
  readonly #sql: Sql
  readonly #schema: number
  readonly #pageTraces: number | undefined
  readonly #onProgress: OnBackedUp
  readonly #hash = createHash('sha256')
  readonly #counts: { -readonly [K in keyof BackupCounts]: number } = { ...NOTHING }

  constructor(sql: Sql, schema: number, pageTraces: number | undefined, onProgress: OnBackedUp = () => {}) {
    this.#sql = sql
    this.#schema = schema
    this.#pageTraces = pageTraces
    this.#onProgress = onProgress
  }

  get counts(): BackupCounts {
    return { ...this.#counts }
  }

  async *write(): AsyncGenerator<Buffer, void> {
    const head = await readHead(this.#sql)
    const manifest = await this.#describe(head)
    yield this.#line('backup', manifest)
    yield this.#lines('account', 'accounts', head.accounts)
    yield this.#lines('project', 'projects', head.projects)
    yield this.#lines('user', 'users', head.users)
    yield this.#lines('member', 'members', head.members)
    yield this.#lines(
      'key',
      'keys',
      head.keys.map(key => ({ ...key, scopes: key.scopes && [...key.scopes] }))
    )
    for (const { id } of head.projects) yield* this.#writeProject(id, manifest)
    for await (const acts of readAuditRows(this.#sql)) yield this.#lines('act', 'acts', acts)
    const sha256 = this.#hash.digest('hex')
    yield Buffer.from(lineOf('end', { counts: { ...this.#counts }, sha256 }))
  }

  async #describe(head: InstanceHead): Promise<Manifest> {
    const { secret, prices, accounts, projects, users, members, keys } = head
    const sums = noSums()
    for (const { id } of projects) addSums(sums, await countProject(this.#sql, id))
    const [row] = await this.#sql<[{ now: string }]>`select now() as now`
    return {
      format: BACKUP_FORMAT,
      id: randomBytes(16).toString('hex'),
      spoor: VERSION,
      schema: this.#schema,
      takenAt: row.now,
      secret,
      ...(prices.length > 0 && { prices: [...prices] }),
      counts: {
        accounts: accounts.length,
        projects: projects.length,
        users: users.length,
        members: members.length,
        keys: keys.length,
        ...sums
      }
    }
  }

  async *#writeProject(project: number, { counts: expected }: Manifest): AsyncGenerator<Buffer, void> {
    yield this.#line('traces', { project })
    const sums = noSums()
    for await (const { lines, ...counts } of this.#tracesOf(project)) {
      this.#hash.update(lines)
      addSums(sums, counts)
      addSums(this.#counts, counts)
      this.#onProgress(this.#counts, expected)
      yield lines
    }
    for await (const rows of readStrayMessages(this.#sql, project)) yield this.#lines('messages', 'messages', rows)
    for await (const rows of readAuthors(this.#sql, project)) yield this.#lines('author', 'authors', rows)
    yield this.#line('sum', { project, ...sums })
  }

  /** Yields a project's traces: as pages of rows, except those that an export renders in pieces or with messages. */
  async *#tracesOf(project: number): AsyncGenerator<ExportPage, void> {
    const sql = this.#sql
    if (!(await hasStoredPages(sql, project))) return yield* exportPages(sql, project, {}, true)
    let next = await readNextPage(sql, project, undefined, this.#pageTraces)
    while (next !== undefined) {
      if ('apart' in next) yield* exportPages(sql, project, { ids: [next.apart] }, true)
      else yield { ...next.counts, lines: encodePage(next.page, next.counts.traces) }
      next = await readNextPage(sql, project, next.last, this.#pageTraces)
    }
  }

  #line<K extends LineName>(name: K, value: LineOf<K>): Buffer {
    const bytes = Buffer.from(lineOf(name, value))
    this.#hash.update(bytes)
    return bytes
  }

  #lines<K extends LineName>(name: K, counted: keyof BackupCounts, values: readonly LineOf<K>[]): Buffer {
    const bytes = Buffer.from(values.map(value => lineOf(name, value)).join(''))
    this.#hash.update(bytes)
    this.#counts[counted] += values.length
    return bytes
  }
}
