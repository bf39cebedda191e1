/**
 * API keys. Every statement that changes a key also tells all server processes (`pg_notify`) to discard their cached
 * data for the key. The notice is only a hint, because a process without a database connection does not receive it.
 */
import type { Sql } from 'postgres'
import type { Scope } from '../../schema/scopes.ts'
import { type AuditEntry, auditStep } from '../audit.ts'

/** Channel for notices of changes. The payload is the changed key's id, or a string with spaces for other changes. */
export const KEYS_CHANNEL = 'spoor_keys'

export interface KeyForAuth {
  readonly id: string
  readonly label: string
  readonly projectId: number
  /** The key's scopes; null for a key created before scopes existed. */
  readonly scopes: Scope[] | null
  readonly environment: string | null
  readonly digest: Buffer
  /** This and the following times are in ISO 8601 (UTC). */
  readonly expiresAt: string | null
  readonly revokedAt: string | null
  readonly lastUsedAt: string | null
  readonly accountId: number
  readonly accountType: 'owner' | 'trial'
}

/** A key as shown by commands: all fields except the digest. */
export interface KeyRow extends Omit<KeyForAuth, 'digest' | 'accountId' | 'accountType'> {
  readonly projectSlug: string
  readonly createdAt: string
}

export interface NewKey extends Pick<KeyForAuth, 'id' | 'digest' | 'projectId' | 'label' | 'environment'> {
  readonly scopes: readonly Scope[]
  /** Days from now; null if the key never expires. */
  readonly expiresInDays: number | null
}

/** An id that was looked up, and its key. For an unknown id, `key` is a substitute, which must not be accepted. */
export interface KeyLookup {
  readonly wanted: string
  readonly key: KeyForAuth
}

/**
 * Reads the authentication data of the keys with these ids. For an unknown id, the query does the same work and returns
 * a substitute key, always the same one, so that timing does not reveal whether an id exists. `offset 0` keeps
 * PostgreSQL from merging the lookups of the key and the substitute, so both always run.
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

/** Days without use after which a key's next use is noteworthy. */
const UNUSED_DAYS = 30

/**
 * Sets keys' last use to the current time, except for keys marked in the last five minutes. Stores the new digests of
 * `moved` keys, whose last use is always set. Returns each key's last use. Rows are locked in the order of their ids,
 * so that two processes with the same keys cannot deadlock. The first use of a key, and its use after UNUSED_DAYS
 * without use, are recorded in the audit log.
 */
export async function touchKeys(
  sql: Sql,
  keyIds: readonly string[],
  moved: ReadonlyMap<string, Buffer> = new Map()
): Promise<{ id: string; lastUsedAt: string }[]> {
  const digests = [...moved.values()].map(digest => digest.toString('hex'))
  return sql<{ id: string; lastUsedAt: string }[]>`
    with held as (
      select k.id, k.last_used_at, decode(m.digest, 'hex') as moved from api_keys k
      left join unnest(${[...moved.keys()]}::text[], ${digests}::text[]) as m (id, digest) on m.id = k.id
      where k.id = any(${keyIds}::text[]) order by k.id for update of k
    ), touched as (
      update api_keys k set last_used_at = now(), digest = coalesce(held.moved, k.digest)
      from held
      where k.id = held.id and (
        held.moved is not null or held.last_used_at is null or held.last_used_at <= now() - interval '5 minutes')
      returning k.id, k.last_used_at, k.project_id, held.last_used_at as before
    ), audited as (
      insert into audit (account_id, project_id, action, detail)
      select p.account_id, p.id, 'key.use', json_build_object('keyId', t.id, 'before', t.before)
      from touched t join projects p on p.id = t.project_id
      where t.before is null or t.before <= now() - ${UNUSED_DAYS} * interval '1 day'
    )
    select held.id, coalesce(touched.last_used_at, held.last_used_at) as "lastUsedAt"
    from held left join touched on touched.id = held.id`
}

/**
 * Stores a new key. In this function and in the following functions, the same statement also writes the audit entry.
 */
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

/** Returns the key with this id, revoked or not. */
export async function readKey(sql: Sql, keyId: string): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`${keyRows(sql, sql`api_keys`)} where k.id = ${keyId}`
  return row
}

/** Returns the keys of one project, or of all projects, in order of creation. */
export async function readKeys(sql: Sql, projectId?: number): Promise<KeyRow[]> {
  return sql<KeyRow[]>`
    ${keyRows(sql, sql`api_keys`)}
    ${projectId === undefined ? sql`` : sql`where k.project_id = ${projectId}`}
    order by k.created_at, k.id`
}

/**
 * Revokes a key and stores a replacement with the same label, scopes, environment and expiry, or does neither. Returns
 * undefined if the key does not exist, is revoked or has expired.
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
 * Revokes a key. A key that is already revoked stays unchanged and gets no audit entry. Returns undefined if the key
 * does not exist.
 */
export async function setKeyRevoked(sql: Sql, keyId: string, audit?: AuditEntry): Promise<KeyRow | undefined> {
  const [row] = await updateKeys(sql, sql`revoked_at = now()`, sql`id = ${keyId}`, audit)
  return row ?? readKey(sql, keyId)
}

/** Revokes and returns the project's keys that are not revoked yet. */
export async function setKeysRevoked(sql: Sql, projectId: number, audit: AuditEntry): Promise<KeyRow[]> {
  return updateKeys(sql, sql`revoked_at = now()`, sql`project_id = ${projectId}`, audit)
}

/** Sets the environment of a key's future traces. Returns undefined if the key does not exist or is revoked. */
export async function writeKeyEnvironment(sql: Sql, keyId: string, environment: string | null, audit?: AuditEntry) {
  const [row] = await updateKeys(sql, sql`environment = ${environment}`, sql`id = ${keyId}`, audit)
  return row
}

/** Updates the selected keys that are not revoked, and returns them in order of creation. */
function updateKeys(sql: Sql, change: ReturnType<Sql>, selected: ReturnType<Sql>, audit: AuditEntry | undefined) {
  return sql<KeyRow[]>`
    with changed as (
      update api_keys set ${change} where ${selected} and revoked_at is null returning *, ${announcement(sql)}
    )
    ${auditStep(sql, audit, sql`changed`)}
    ${keyRows(sql, sql`changed`)}
    order by k.created_at, k.id`
}

export async function listenToKeys(sql: Sql): Promise<void> {
  await sql.unsafe(`listen ${KEYS_CHANNEL}`)
}

/** Returns a column for `returning` that notifies the listeners of the changed key. */
function announcement(sql: Sql) {
  return sql`pg_notify(${KEYS_CHANNEL}, id) as announced`
}

/** Notice of a changed project. It contains spaces, so it cannot be mistaken for a key id. */
const PROJECT_CHANGED = 'a project has changed'

/** Returns a column for `returning` that tells the listeners to discard cached projects. */
export const announceProject = (sql: Sql) => sql`pg_notify(${KEYS_CHANNEL}, ${PROJECT_CHANGED}) as announced`

function keyRows(sql: Sql, source: ReturnType<Sql>) {
  return sql`
    select k.id, k.project_id as "projectId", p.slug as "projectSlug", k.label, k.scopes, k.environment,
      k.created_at as "createdAt", k.expires_at as "expiresAt", k.last_used_at as "lastUsedAt", k.revoked_at as "revokedAt"
    from ${source} k
    join projects p on p.id = k.project_id`
}
