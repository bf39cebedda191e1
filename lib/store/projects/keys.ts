/**
 * API keys. Every statement that changes a key also notifies all server processes (`pg_notify`), so that they forget
 * what they remember of the key. The notice is only a hint: a process that is not connected at that moment does not
 * get it.
 */
import type { Sql } from 'postgres'
import type { Scope } from '../../schema/scopes.ts'
import { type AuditEntry, auditStep } from '../audit.ts'

/** The payload of a notice is the id of the key that changed. */
export const KEYS_CHANNEL = 'spoor_keys'

export interface KeyForAuth {
  readonly id: string
  readonly label: string
  readonly projectId: number
  /** Null for a key from before scopes existed. */
  readonly scopes: Scope[] | null
  readonly environment: string | null
  readonly digest: Buffer
  /** Times are ISO 8601 in UTC. */
  readonly expiresAt: string | null
  readonly revokedAt: string | null
  readonly lastUsedAt: string | null
  readonly accountId: number
  readonly accountType: 'owner' | 'trial'
}

/** A key as commands show it: all fields but the digest. */
export interface KeyRow {
  readonly id: string
  readonly projectId: number
  readonly projectSlug: string
  readonly label: string
  readonly scopes: Scope[] | null
  readonly environment: string | null
  /** Times are ISO 8601 in UTC. */
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly lastUsedAt: string | null
  readonly revokedAt: string | null
}

export interface NewKey {
  readonly id: string
  readonly digest: Buffer
  readonly projectId: number
  readonly label: string
  readonly scopes: readonly Scope[]
  readonly environment: string | null
  /** Days from now; null if the key never expires. */
  readonly expiresInDays: number | null
}

/** A key with the id that was looked up. If no key has that id, it is another key, which must not be accepted. */
export interface KeyLookup {
  readonly wanted: string
  readonly key: KeyForAuth
}

/**
 * Reads what authentication needs of the keys with these ids. An id that no key has takes as much work as every other:
 * it gets the row of some key, the same for all, so that the time it takes does not tell whether an id exists. Both are
 * looked for in either case (`offset 0` keeps the two columns from being joined into the one question).
 */
export async function readKeysForAuth(sql: Sql, keyIds: readonly string[]): Promise<KeyLookup[]> {
  const rows = await sql<(Omit<KeyForAuth, 'digest'> & { wanted: string; digest: string })[]>`
    select found.wanted, k.id, k.label, k.project_id as "projectId", k.scopes, k.environment, k.digest,
      k.expires_at as "expiresAt", k.revoked_at as "revokedAt", k.last_used_at as "lastUsedAt", a.id as "accountId",
      a.type as "accountType"
    from (
      select w.id as wanted, (select id from api_keys where id = w.id) as own,
        (select id from api_keys order by id limit 1) as other
      from unnest(${keyIds}::text[]) as w (id)
      offset 0
    ) found
    join api_keys k on k.id = coalesce(found.own, found.other)
    join projects p on p.id = k.project_id
    join accounts a on a.id = p.account_id`
  return rows.map(({ wanted, ...key }) => ({ wanted, key: { ...key, digest: Buffer.from(key.digest, 'hex') } }))
}

/**
 * Marks keys as used now, unless another process did so in the last five minutes, and returns when each key was last
 * used. The rows are locked in the order of their ids, so that two processes with the same keys never wait for each
 * other.
 */
export async function touchKeys(sql: Sql, keyIds: readonly string[]): Promise<{ id: string; lastUsedAt: string }[]> {
  return sql<{ id: string; lastUsedAt: string }[]>`
    with held as (
      select id, last_used_at from api_keys where id = any(${keyIds}::text[]) order by id for update
    ), touched as (
      update api_keys k set last_used_at = now()
      from held
      where k.id = held.id and (held.last_used_at is null or held.last_used_at <= now() - interval '5 minutes')
      returning k.id, k.last_used_at
    )
    select held.id, coalesce(touched.last_used_at, held.last_used_at) as "lastUsedAt"
    from held left join touched on touched.id = held.id`
}

/** Stores a new key. `audit` is written down with it, here and below. */
export async function insertKey(sql: Sql, key: NewKey, audit?: AuditEntry): Promise<KeyRow> {
  const [row] = await sql<[KeyRow]>`
    with stored as (
      insert into api_keys (id, digest, project_id, label, scopes, environment, expires_at)
      values (${key.id}, ${key.digest}, ${key.projectId}, ${key.label}, ${key.scopes as string[]}::text[],
        ${key.environment}, now() + ${key.expiresInDays}::int * interval '1 day')
      returning *, ${announcement(sql)}
    )
    ${auditStep(sql, audit, sql`stored`)}
    ${keyRows(sql, sql`stored`)}`
  return row
}

/** The key with this id, revoked or not; undefined if there is none. */
export async function readKey(sql: Sql, keyId: string): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`${keyRows(sql, sql`api_keys`)} where k.id = ${keyId}`
  return row
}

/** All keys of one project, or of all projects, in the order in which they were made. */
export async function readKeys(sql: Sql, projectId?: number): Promise<KeyRow[]> {
  return sql<KeyRow[]>`
    ${keyRows(sql, sql`api_keys`)}
    ${projectId === undefined ? sql`` : sql`where k.project_id = ${projectId}`}
    order by k.created_at, k.id`
}

/**
 * Revokes a key and stores another with the same label, scopes, environment and expiry: both or neither. Undefined, and
 * nothing is changed, if the key does not exist, is revoked or has expired.
 */
export async function insertRotatedKey(
  sql: Sql,
  keyId: string,
  replacement: Pick<NewKey, 'id' | 'digest'>,
  audit?: AuditEntry
): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    with retired as (
      update api_keys set revoked_at = now()
      where id = ${keyId} and revoked_at is null and (expires_at is null or expires_at > now())
      returning *, ${announcement(sql)}
    ), stored as (
      insert into api_keys (id, digest, project_id, label, scopes, environment, expires_at)
      select ${replacement.id}, ${replacement.digest}::bytea, project_id, label, scopes, environment, expires_at from retired
      returning *, ${announcement(sql)}
    )
    ${auditStep(sql, audit, sql`stored`)}
    ${keyRows(sql, sql`stored`)}`
  return row
}

/**
 * Revokes a key. One that was revoked before stays as it is, and no audit entry is written down for it. Undefined if
 * there is no such key.
 */
export async function setKeyRevoked(sql: Sql, keyId: string, audit?: AuditEntry): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    with changed as (
      update api_keys set revoked_at = now() where id = ${keyId} and revoked_at is null
      returning *, ${announcement(sql)}
    )
    ${auditStep(sql, audit, sql`changed`)}
    ${keyRows(sql, sql`changed`)}`
  return row ?? readKey(sql, keyId)
}

/** Revokes all keys of a project that are not revoked, and returns them. */
export async function setKeysRevoked(sql: Sql, projectId: number, audit: AuditEntry): Promise<KeyRow[]> {
  return sql<KeyRow[]>`
    with changed as (
      update api_keys set revoked_at = now() where project_id = ${projectId} and revoked_at is null
      returning *, ${announcement(sql)}
    )
    ${auditStep(sql, audit, sql`changed`)}
    ${keyRows(sql, sql`changed`)}
    order by k.created_at, k.id`
}

/**
 * Changes the environment of what a key records from now on. Undefined if there is no such key, or if it is revoked.
 */
export async function writeKeyEnvironment(
  sql: Sql,
  keyId: string,
  environment: string | null,
  audit?: AuditEntry
): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    with changed as (
      update api_keys set environment = ${environment} where id = ${keyId} and revoked_at is null
      returning *, ${announcement(sql)}
    )
    ${auditStep(sql, audit, sql`changed`)}
    ${keyRows(sql, sql`changed`)}`
  return row
}

/** Makes the connection receive notices from now on. */
export async function listenToKeys(sql: Sql): Promise<void> {
  await sql.unsafe(`listen ${KEYS_CHANNEL}`)
}

/** Tells the listeners, from the `returning` list of a statement, which key it changed. */
function announcement(sql: Sql) {
  return sql`pg_notify(${KEYS_CHANNEL}, id) as announced`
}

/** The notice that is no key's id, which has no spaces. */
const PROJECT_CHANGED = 'a project has changed'

/** Tells the listeners, from a list of columns, that they may remember what a project is no longer. */
export const announceProject = (sql: Sql) => sql`pg_notify(${KEYS_CHANNEL}, ${PROJECT_CHANGED}) as announced`

function keyRows(sql: Sql, source: ReturnType<Sql>) {
  return sql`
    select k.id, k.project_id as "projectId", p.slug as "projectSlug", k.label, k.scopes, k.environment,
      k.created_at as "createdAt", k.expires_at as "expiresAt", k.last_used_at as "lastUsedAt", k.revoked_at as "revokedAt"
    from ${source} k
    join projects p on p.id = k.project_id`
}
