/** Implements `spoor key`. Only this code handles a whole key, and only until the key has been shown once. */
import type { Sql } from 'postgres'
import { digestSecret, generateKey, parseKey } from '../access/keys.ts'
import { AdminError } from '../admin-error.ts'
import { DEFAULT_SCOPES, effectiveScopes, type Scope } from '../schema/scopes.ts'
import { type AuditEntry, writeAudit } from '../store/audit.ts'
import { claimSecret, isOtherSecret, OTHER_SECRET, replaceSecret } from '../store/projects/digest-secret.ts'
import type { KeyRow, NewKey } from '../store/projects/keys.ts'
import * as store from '../store/projects/keys.ts'
import { parseEnvironment, UNASSIGNED } from '../trace/environment.ts'
import { requireProject } from './projects.ts'
import { checkText, quoteKeyId } from './text.ts'

/** A deployment's settings for creating keys. */
export interface KeyMaking {
  readonly keyPrefix: string
  readonly digestSecret: string | undefined
  readonly previousSecret?: string | undefined
}

/** A new key. `key` is the whole key, which cannot be shown again. */
export interface IssuedKey extends Pick<KeyRow, 'label' | 'environment' | 'expiresAt'> {
  readonly key: string
  readonly keyId: string
  readonly projectId: string
  readonly scopes: readonly Scope[]
}

/** The parts of a new key that are stored. */
export type MadeKey = Pick<NewKey, 'id' | 'digest'>

/** A key's data without its secret. */
export interface KeyListing extends Omit<IssuedKey, 'key'>, Pick<KeyRow, 'createdAt' | 'lastUsedAt' | 'revokedAt'> {
  readonly project: string
  readonly state: 'active' | 'expired' | 'revoked'
}

export interface KeyRequest {
  readonly project: string
  readonly label?: string | undefined
  readonly scopes?: readonly Scope[] | undefined
  /** The key's environment. If undefined, the key has no environment and its traces are unassigned. */
  readonly environment?: string | undefined
  /** Lifetime in days; undefined if the key never expires. */
  readonly expiresInDays?: number | undefined
}

/** The actor named in the audit log. If a function in this file receives no actor, the log names a command instead. */
type Actor = Pick<AuditEntry, 'by' | 'accountId' | 'projectId' | 'client'>

export async function createKey(sql: Sql, making: KeyMaking, request: KeyRequest, actor?: Actor): Promise<IssuedKey> {
  const label = checkText('the label', request.label ?? '', 0, 200)
  const environment = request.environment === undefined ? null : parseEnvironment(request.environment)
  const projectId = await requireProject(sql, request.project)
  const { key, stored } = await makeKey(sql, making)
  const { scopes = DEFAULT_SCOPES, expiresInDays = null } = request
  const detail = { keyId: stored.id, label, scopes, environment }
  const audit = entryOn('key.create', detail, actor ?? { by: null, projectId })
  return issued(
    key,
    await store.insertKey(sql, { ...stored, projectId, label, scopes, environment, expiresInDays }, audit)
  )
}

/** Selects the keys to list. If `expiringDays` or `unusedDays` is set, only active keys are listed. */
export interface KeySelection {
  /** Selects keys that expire within this many days. */
  readonly expiringDays?: number | undefined
  /**
   * Selects keys not used for this many days. For a key that was never used, the days are counted from its creation.
   */
  readonly unusedDays?: number | undefined
}

const DAY_MS = 86_400_000

export async function listKeys(sql: Sql, project?: string, selection: KeySelection = {}): Promise<KeyListing[]> {
  const projectId = project === undefined ? undefined : await requireProject(sql, project)
  const now = Date.now()
  return (await store.readKeys(sql, projectId))
    .map(row => listing(row, now))
    .filter(key => isSelected(key, selection, now))
}

function isSelected(key: KeyListing, { expiringDays, unusedDays }: KeySelection, now: number): boolean {
  if (expiringDays === undefined && unusedDays === undefined) return true
  const isExpiring = key.expiresAt !== null && Date.parse(key.expiresAt) - now <= (expiringDays ?? 0) * DAY_MS
  const isUnused = now - Date.parse(key.lastUsedAt ?? key.createdAt) >= (unusedDays ?? 0) * DAY_MS
  return key.state === 'active' && (expiringDays === undefined || isExpiring) && (unusedDays === undefined || isUnused)
}

/** Revokes and returns all of a project's keys that are not yet revoked. */
export async function revokeKeysOf(sql: Sql, project: string): Promise<KeyListing[]> {
  const projectId = await requireProject(sql, project)
  const audit = { by: null, action: 'key.revoke', projectId, detail: { all: true } } as const
  return (await store.setKeysRevoked(sql, projectId, audit)).map(row => listing(row))
}

/** Revokes a key and creates its replacement, which differs only in its id and secret. */
export async function rotateKey(sql: Sql, making: KeyMaking, keyId: string, actor?: Actor): Promise<IssuedKey> {
  const { key, stored } = await makeKey(sql, making)
  const row = await store.insertRotatedKey(sql, keyId, stored, entryOn('key.rotate', { keyId, by: stored.id }, actor))
  return issued(key, row ?? (await refuseKey(sql, keyId)))
}

/** Returns a key in any state. Throws an AdminError if no key has this id. */
export async function findKey(sql: Sql, keyId: string): Promise<KeyListing> {
  const key = (await listKeys(sql)).find(each => each.keyId === keyId)
  return key ?? (await refuseKey(sql, keyId))
}

/** Revokes a key. Revoking it again changes nothing. */
export async function revokeKey(sql: Sql, keyId: string, actor?: Actor): Promise<KeyListing> {
  const row = await store.setKeyRevoked(sql, keyId, entryOn('key.revoke', { keyId }, actor))
  return listing(row ?? (await refuseKey(sql, keyId)))
}

/** Sets the environment of future traces recorded with a key; `unassigned` removes the environment. */
export async function setKeyEnvironment(sql: Sql, keyId: string, environment: string): Promise<KeyListing> {
  const label = environment.toLowerCase() === UNASSIGNED ? null : parseEnvironment(environment)
  const audit = entryOn('key.environment', { keyId, environment: label })
  const row = await store.writeKeyEnvironment(sql, keyId, label, audit)
  return listing(row ?? (await refuseKey(sql, keyId)))
}

export interface SecretReplacement {
  /** Number of keys that have stopped working or, without `apply`, would stop working. */
  readonly keys: number
  /** Whether the keys were made with another secret. If not, nothing needs to change. */
  readonly differs: boolean
  readonly applied: boolean
}

/** Replaces KEY_DIGEST_SECRET, which revokes all keys. Without `apply`, only counts the affected keys. */
export async function replaceKeySecret(sql: Sql, making: KeyMaking, apply: boolean): Promise<SecretReplacement> {
  const secret = requireSecret(making)
  const differs = await isOtherSecret(sql, secret, making.previousSecret)
  if (differs && apply) {
    const keys = await replaceSecret(sql, secret)
    await writeAudit(sql, entryOn('key.replace-secret', { keys }, { by: null }))
    return { keys, differs, applied: true }
  }
  const working = (await store.readKeys(sql)).filter(row => stateOf(row) === 'active')
  return { keys: differs ? working.length : 0, differs, applied: false }
}

/** Creates a key and its stored parts. Throws an AdminError if existing keys were made with another secret. */
export async function makeKey(sql: Sql, making: KeyMaking): Promise<{ key: string; stored: MadeKey }> {
  const own = requireSecret(making)
  if (!(await claimSecret(sql, own, making.previousSecret))) throw new AdminError(OTHER_SECRET)
  const { key, keyId, secret } = generateKey(making.keyPrefix)
  return { key, stored: { id: keyId, digest: digestSecret(secret, own) } }
}

/** Like `makeKey`, but for a key that an operator has chosen. */
export async function adoptKey(sql: Sql, making: KeyMaking, key: string): Promise<{ key: string; stored: MadeKey }> {
  const own = requireSecret(making)
  const parts = parseKey(making.keyPrefix, key)
  if (parts === undefined) throw new AdminError('SPOOR_INIT_KEY does not have the prefix in KEY_PREFIX')
  if (!(await claimSecret(sql, own, making.previousSecret))) throw new AdminError(OTHER_SECRET)
  return { key, stored: { id: parts.keyId, digest: digestSecret(parts.secret, own) } }
}

/** Returns the audit entry for a change to a key. Without an actor, the statement looks up the key's project. */
const entryOn = (
  action: AuditEntry['action'],
  detail: NonNullable<AuditEntry['detail']>,
  actor: Actor = { by: null, projectId: 'source' }
): AuditEntry => ({ ...actor, action, detail })

function requireSecret({ digestSecret }: KeyMaking): string {
  if (digestSecret === undefined) {
    throw new AdminError('KEY_DIGEST_SECRET is not set: this command needs the same secret as the server')
  }
  return digestSecret
}

/** Throws an AdminError that explains why a key could not be changed. */
async function refuseKey(sql: Sql, keyId: string): Promise<never> {
  const row = await store.readKey(sql, keyId)
  if (row === undefined) throw new AdminError(`there is no key ${quoteKeyId(keyId)}: see \`spoor key list\``)
  const state = stateOf(row) === 'revoked' ? 'is revoked' : 'has expired'
  throw new AdminError(`key ${keyId} ${state}: create another with \`spoor key create --project ${row.projectSlug}\``)
}

function stateOf(row: KeyRow, now = Date.now()): KeyListing['state'] {
  if (row.revokedAt !== null) return 'revoked'
  return row.expiresAt !== null && Date.parse(row.expiresAt) <= now ? 'expired' : 'active'
}

const issued = (key: string, row: KeyRow): IssuedKey => ({ key, ...described(row) })

function described(row: KeyRow): Omit<IssuedKey, 'key'> {
  return {
    keyId: row.id,
    projectId: String(row.projectId),
    label: row.label,
    scopes: effectiveScopes(row.scopes),
    environment: row.environment,
    expiresAt: row.expiresAt
  }
}

function listing(row: KeyRow, now = Date.now()): KeyListing {
  return {
    ...described(row),
    project: row.projectSlug,
    state: stateOf(row, now),
    createdAt: row.createdAt,
    lastUsedAt: row.lastUsedAt,
    revokedAt: row.revokedAt
  }
}
