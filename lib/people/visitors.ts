/**
 * Finds out who a visitor of the dashboard is. An answer is remembered for some seconds. Everything else is looked up in the
 * database. Wrong tokens are not remembered.
 */
import type { SqlAccess } from '../database/sql-access.ts'
import { FailureLog } from '../failure-log.ts'
import { Remembered } from '../limits/remembered.ts'
import { type Lookup as LookupOf, SharedLookups } from '../limits/shared-lookups.ts'
import type { Logger } from '../log.ts'
import type { Role } from '../schema/roles.ts'
import { readVisits, touchSessions, type Visiting, type VisitRow } from '../store/people/sessions.ts'
import { insertVouchedUser } from '../store/people/users.ts'
import { readEmail } from './email.ts'
import { digestToken } from './tokens.ts'
import type { Credentials, Visit } from './visit.ts'

export interface VisitorsOptions {
  readonly sql: SqlAccess
  readonly log: Logger
  /** What somebody becomes whom a trusted proxy vouches for and whom nobody has added; undefined: nobody. */
  readonly roleOfUnknown: Role | undefined
}

/** The most that one lookup asks for. */
const MAX_BATCH = 500
/** The last use of a session is written no more often than this. */
const TOUCH_INTERVAL_MS = 5 * 60_000
/** Every lookup tries, so a failure is logged no more often than this. */
const REMIND_MS = 60_000

interface Lookup extends LookupOf<Visit> {
  readonly name: string
  readonly asked: Visiting
}

export class Visitors {
  readonly #options: VisitorsOptions
  readonly #remembered = new Remembered<Visit>()
  readonly #lookups = new SharedLookups<Lookup>(MAX_BATCH, batch => this.#answer(batch))
  readonly #untouched: FailureLog

  constructor(options: VisitorsOptions) {
    this.#options = options
    const failed = 'the last use of a session could not be stored'
    this.#untouched = new FailureLog(options.log, { failed, remindMs: REMIND_MS })
  }

  /** Whose credentials these are, and what they are in the project with this slug. Undefined for nobody. */
  async find(credentials: Credentials, slug: string | undefined): Promise<Visit | undefined> {
    const asked = askingFor(credentials, slug)
    if (asked === undefined) return undefined
    const visit = await this.#find(asked)
    if (visit !== undefined || asked.email === null) return visit
    return this.#welcome(asked)
  }

  /** Forgets everybody: sessions, roles or projects may have changed. */
  forget(): void {
    this.#remembered.forget()
  }

  /** Makes a user of somebody whom the proxy vouches for and whom nobody knows, where the configuration says so. */
  async #welcome(asked: Visiting): Promise<Visit | undefined> {
    const { roleOfUnknown, sql } = this.#options
    if (roleOfUnknown === undefined) return undefined
    await sql.write(sql => insertVouchedUser(sql, asked.email as string, roleOfUnknown))
    return this.#find(asked)
  }

  async #find(asked: Visiting): Promise<Visit | undefined> {
    const name = JSON.stringify([asked.digest, asked.email, asked.slug])
    const remembered = this.#remembered.get(name)
    if (remembered !== undefined) return remembered
    return new Promise((resolve, reject) => this.#lookups.add({ name, asked, resolve, reject }))
  }

  async #answer(batch: readonly Lookup[]): Promise<void> {
    const moment = this.#remembered.now()
    const rows = await this.#options.sql.read(sql =>
      readVisits(
        sql,
        batch.map(({ asked }) => asked)
      )
    )
    const found = new Map(rows.map(row => [row.place - 1, row]))
    const due = new Set<string>()
    for (const [place, { name, asked, resolve }] of batch.entries()) {
      const row = found.get(place)
      const visit = row && toVisit(row, asked)
      if (visit !== undefined) this.#remembered.add(name, visit, moment)
      if (row !== undefined && asked.digest !== null && isDue(row.seenAt)) due.add(asked.digest)
      resolve(visit)
    }
    if (due.size > 0) void this.#touch([...due])
  }

  /** Nobody waits for it: a session whose last use could not be written is valid all the same. */
  async #touch(digests: readonly string[]): Promise<void> {
    const { sql } = this.#options
    await sql.write(sql => touchSessions(sql, digests)).catch(error => this.#untouched.fail(error))
  }
}

/** Undefined if nothing was shown that could be anybody's. */
function askingFor({ token, vouched }: Credentials, slug: string | undefined): Visiting | undefined {
  // No text of PostgreSQL holds U+0000, so no project has such a name.
  const project = slug === undefined || slug.includes('\0') ? null : slug
  if (vouched !== undefined) {
    const email = readEmail(vouched)
    return email === undefined ? undefined : { digest: null, email, slug: project }
  }
  const digest = token === undefined ? undefined : digestToken(token)
  return digest === undefined ? undefined : { digest, email: null, slug: project }
}

function toVisit(row: VisitRow, { digest }: Visiting): Visit {
  const { userId, email, name, hasPassword, provenAt, projectId, accountId, role } = row
  return {
    visitor: { userId, email, name, hasPassword, session: digest, provenAt },
    project: projectId === null || accountId === null || role === null ? undefined : { id: projectId, accountId, role }
  }
}

const isDue = (seenAt: string | null): boolean =>
  seenAt !== null && Date.parse(seenAt) + TOUCH_INTERVAL_MS <= Date.now()
