/**
 * Authenticates requests by API key. A verified key is cached for a few seconds, keyed by a hash of the whole token.
 * Every other token is looked up in the database. Invalid keys are not cached. Every invalid token takes the same time
 * to check and gets the same response, so neither reveals what is wrong with the token.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import type { SqlAccess } from '../database/sql-access.ts'
import { Refusal } from '../errors.ts'
import { FailureLog } from '../failure-log.ts'
import { type CacheMoment, Remembered } from '../limits/remembered.ts'
import { type Lookup as LookupOf, SharedLookups } from '../limits/shared-lookups.ts'
import type { Logger } from '../log.ts'
import type { Access, Principal } from '../schema/principal.ts'
import { effectiveScopes } from '../schema/scopes.ts'
import { type KeyForAuth, readKeysForAuth, touchKeys } from '../store/projects/keys.ts'
import { digestSecret, parseKey } from './keys.ts'

export interface KeyRingOptions {
  readonly sql: SqlAccess
  readonly keyPrefix: string
  readonly digestSecret: string
  /** Keys made with this secret are also valid, and switch to `digestSecret` when they are used. */
  readonly previousSecret?: string | undefined
  readonly log: Logger
}

/** Maximum number of tokens per lookup. */
const MAX_BATCH = 1000
/** Minimum interval between writes of lastUsedAt (specification, section 5). */
const TOUCH_INTERVAL_MS = 5 * 60_000
/**
 * Minimum interval between log messages about failed writes. Every lookup retries a failed write and would otherwise
 * log the failure again.
 */
const REMIND_MS = 60_000

/**
 * An id that no key has. Malformed tokens are looked up under this id, so that rejecting a malformed token takes as
 * long as rejecting a well-formed token.
 */
const NO_KEY_ID = ''
const SECRET_LENGTH = 43
const DUMMY_DIGEST = Buffer.alloc(32)

interface Lookup extends LookupOf<Principal> {
  readonly tokenHash: string
  readonly keyId: string
  readonly secret: string
}

export class KeyRing {
  readonly #options: KeyRingOptions
  readonly #remembered = new Remembered<Principal>()
  readonly #lookups = new SharedLookups<Lookup>(MAX_BATCH, batch => this.#answer(batch))
  readonly #untouched: FailureLog

  constructor(options: KeyRingOptions) {
    this.#options = options
    const failed = "a key's last use could not be stored"
    this.#untouched = new FailureLog(options.log, { failed, remindMs: REMIND_MS })
  }

  /**
   * Returns the principal for an Authorization header. Throws `invalid_api_key` if the key is invalid. While the
   * database is unreachable, throws `quota_exhausted` for access that allows writing or deleting, and `unavailable` for
   * other access.
   */
  authenticate(authorization: string | undefined, access: Access): Principal | Promise<Principal> {
    const token = bearerToken(authorization)
    const tokenHash = hash('sha256', token, 'base64')
    return this.#remembered.get(tokenHash) ?? this.#verify(token, tokenHash, access)
  }

  /** Clears the cache. Called when a key may have changed. */
  forget(): void {
    this.#remembered.forget()
  }

  async #verify(token: string, tokenHash: string, access: Access): Promise<Principal> {
    const parts = parseKey(this.#options.keyPrefix, token)
    const { keyId, secret } = parts ?? { keyId: NO_KEY_ID, secret: token.slice(0, SECRET_LENGTH) }
    const found = new Promise<Principal | undefined>((resolve, reject) => {
      this.#lookups.add({ tokenHash, keyId, secret, resolve, reject })
    })
    const principal = await found.catch(error => {
      // A malformed token is invalid regardless of the database.
      if (parts === undefined) return undefined
      throw isWrite(access) && isUnavailable(error) ? new Refusal('quota_exhausted', error.message) : error
    })
    if (principal === undefined) throw invalidKey()
    return principal
  }

  async #answer(batch: readonly Lookup[]): Promise<void> {
    const moment = this.#remembered.now()
    const ids = [...new Set(batch.map(lookup => lookup.keyId))]
    const found = await this.#options.sql.read(sql => readKeysForAuth(sql, ids))
    const rows = new Map(found.map(({ wanted, key }) => [wanted, key]))
    const accepted: [Lookup, KeyForAuth][] = []
    const stale = new Set<string>()
    const moved = new Map<string, Buffer>()
    for (const lookup of batch) {
      const row = rows.get(lookup.keyId)
      const match = this.#match(lookup, row)
      if (match === undefined) {
        lookup.resolve(undefined)
        continue
      }
      if (match.isPrevious) moved.set(row!.id, match.digest)
      if (isDue(row!.lastUsedAt)) stale.add(row!.id)
      accepted.push([lookup, row!])
    }
    const touched =
      stale.size + moved.size > 0 ? this.#touch([...new Set([...stale, ...moved.keys()])], moved) : undefined
    for (const [lookup, row] of accepted) {
      const { lastUsedAt } = row
      const isChanging = touched !== undefined && isDue(lastUsedAt)
      const changed = isChanging ? touched.then(times => times.get(row.id) ?? lastUsedAt ?? now()) : undefined
      // Only the first request with a key waits for the write, so that every used key has a last-use time.
      if (lastUsedAt === null) void changed!.then(time => this.#accept(lookup, row, time, moment))
      else this.#accept(lookup, row, changed ?? lastUsedAt, moment)
    }
  }

  /**
   * Marks keys as used, stores the digests of moved keys, and returns the new last-use times. If the write fails,
   * returns no times instead of rejecting, because the keys stay valid.
   */
  async #touch(ids: readonly string[], moved: ReadonlyMap<string, Buffer>): Promise<ReadonlyMap<string, string>> {
    try {
      const touched = await this.#options.sql.write(sql => touchKeys(sql, ids, moved))
      return new Map(touched.map(row => [row.id, row.lastUsedAt]))
    } catch (error) {
      // The next lookup retries the write.
      this.#untouched.fail(error)
      return new Map()
    }
  }

  #accept(lookup: Lookup, row: KeyForAuth, lastUsedAt: Principal['lastUsedAt'], moment: CacheMoment): void {
    const principal = toPrincipal(row, lastUsedAt)
    const { expiresAt } = principal
    const leftMs = expiresAt === null ? undefined : Date.parse(expiresAt) - Date.now()
    this.#remembered.add(lookup.tokenHash, principal, moment, leftMs)
    lookup.resolve(principal)
  }

  /**
   * Returns the digest of a valid key's secret, and whether the key was made with the previous secret. Returns
   * undefined if the key is invalid. The check takes equally long for a key that is unknown, has a different secret, or
   * is no longer valid. For an unknown key, `row` belongs to another key. `row` is undefined only if no key exists.
   */
  #match({ keyId, secret }: Lookup, row: KeyForAuth | undefined): { digest: Buffer; isPrevious: boolean } | undefined {
    const { digestSecret: current, previousSecret } = this.#options
    const stored = row?.digest ?? DUMMY_DIGEST
    const digest = digestSecret(secret, current)
    const isCurrent = timingSafeEqual(digest, stored)
    const isPrevious = previousSecret !== undefined && timingSafeEqual(digestSecret(secret, previousSecret), stored)
    const isSame = isCurrent || isPrevious
    const isValid = isSame && row !== undefined && row.id === keyId && row.revokedAt === null && !isPast(row.expiresAt)
    return isValid ? { digest, isPrevious: !isCurrent } : undefined
  }
}

/** Returns the token that follows `Bearer` (in any letter case), or an empty string if there is no token. */
function bearerToken(authorization = ''): string {
  return /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ''
}

const now = (): string => new Date().toISOString()

function toPrincipal(row: KeyForAuth, lastUsedAt: Principal['lastUsedAt']): Principal {
  return {
    keyId: row.id,
    label: row.label,
    projectId: row.projectId,
    scopes: effectiveScopes(row.scopes),
    environment: row.environment,
    trialAccountId: row.accountType === 'trial' ? row.accountId : null,
    expiresAt: row.expiresAt,
    lastUsedAt
  }
}

function isPast(time: string | null): boolean {
  return time !== null && Date.parse(time) <= Date.now()
}

/** Returns whether a key's last-use time is due to be updated. */
function isDue(lastUsedAt: string | null): boolean {
  return lastUsedAt === null || Date.parse(lastUsedAt) + TOUCH_INTERVAL_MS <= Date.now()
}

function isWrite(access: Access): boolean {
  return access === 'traces:write' || access === 'traces:delete'
}

function isUnavailable(error: unknown): error is Refusal {
  return error instanceof Refusal && error.code === 'unavailable'
}

function invalidKey(): Refusal {
  return new Refusal('invalid_api_key', 'The API key is missing, malformed, unknown, expired or revoked.')
}
