/** Identifies the dashboard's visitors. Results are cached for a few seconds, except results for wrong tokens. */
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
  /** Role for people whom a trusted proxy vouches for but nobody has added. If undefined, such people are rejected. */
  readonly roleOfUnknown: Role | undefined
}

/** Maximum number of visits in one lookup. */
const MAX_BATCH = 500
/** Minimum interval between writes of a session's last use. */
const TOUCH_INTERVAL_MS = 5 * 60_000
/**
 * Minimum interval between log messages about failed writes. Every lookup retries a failed write and would otherwise
 * log the failure again.
 */
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
    const failed = "a session's last use could not be stored"
    this.#untouched = new FailureLog(options.log, { failed, remindMs: REMIND_MS })
  }

  /**
   * Returns the user with these credentials, and the user's role in the project with this slug; undefined if the
   * credentials are unknown.
   */
  async find(credentials: Credentials, slug: string | undefined): Promise<Visit | undefined> {
    const asked = askingFor(credentials, slug)
    if (asked === undefined) return undefined
    const visit = await this.#find(asked)
    if (visit !== undefined || asked.email === null) return visit
    return this.#welcome(asked)
  }

  /** Clears the cache. Called when sessions, roles or projects may have changed. */
  forget(): void {
    this.#remembered.forget()
  }

  /** Creates a user for an unknown person whom the proxy vouches for, if the configuration allows this. */
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
    const visits = batch.map(({ asked }) => asked)
    const rows = await this.#options.sql.read(sql => readVisits(sql, visits))
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

  /** Stores the sessions' last use. No request waits, because a session is valid even if the write fails. */
  async #touch(digests: readonly string[]): Promise<void> {
    const { sql } = this.#options
    await sql.write(sql => touchSessions(sql, digests)).catch(error => this.#untouched.fail(error))
  }
}

/** Returns the data to look up; undefined if the credentials cannot belong to anybody. */
function askingFor({ token, vouched }: Credentials, slug: string | undefined): Visiting | undefined {
  // PostgreSQL strings cannot contain U+0000, so no project has such a slug.
  const project = slug === undefined || slug.includes('\0') ? null : slug
  if (vouched !== undefined) {
    const email = readEmail(vouched)
    return email === undefined ? undefined : { digest: null, email, slug: project }
  }
  const digest = token === undefined ? undefined : digestToken(token)
  return digest === undefined ? undefined : { digest, email: null, slug: project }
}

function toVisit(row: VisitRow, { digest }: Visiting): Visit {
  const { userId, email, name, hasPassword, hasFactor, provenAt, projectId, accountId, role, lacksFactor } = row
  return {
    visitor: { userId, email, name, hasPassword, hasFactor, session: digest, provenAt },
    project:
      projectId === null || accountId === null || role === null
        ? undefined
        : { id: projectId, accountId, role, lacksFactor }
  }
}

const isDue = (seenAt: string | null): boolean =>
  seenAt !== null && Date.parse(seenAt) + TOUCH_INTERVAL_MS <= Date.now()
