/**
 * Checks that KEY_DIGEST_SECRET is the secret that the stored keys were created with. With another secret, every key
 * would be rejected as unknown. The first server or command stores the secret's fingerprint in the database. Computing
 * a fingerprint takes a tenth of a second, so that a person with access to the database cannot find the secret by
 * guessing words.
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import type { Sql } from 'postgres'
import { auditStep } from '../audit.ts'
import { KEYS_CHANNEL } from './keys.ts'

/** Message to operators whose KEY_DIGEST_SECRET differs from the secret that the stored keys were created with. */
export const OTHER_SECRET =
  "KEY_DIGEST_SECRET differs from the secret that this database's keys were created with: set that secret (an " +
  'embedded database keeps it in DATA_DIR/key-digest-secret), or run `spoor key replace-secret`, which revokes all ' +
  'keys'

const SALT_BYTES = 16
const FINGERPRINT_BYTES = 32
/** Cost of a fingerprint. Must not change, because stored fingerprints would no longer match their secrets. */
const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }

/**
 * Whether the keys were created with this secret, or with the `previous` secret that it replaces. If no fingerprint is
 * stored yet, stores this secret's fingerprint.
 */
export async function claimSecret(sql: Sql, secret: string, previous?: string): Promise<boolean> {
  const known = await readFingerprint(sql)
  if (known !== undefined) return matches(known, secret, previous)
  const own = await makeFingerprint(secret)
  await insertFingerprint(sql, own)
  const stored = await readFingerprint(sql)
  return stored !== undefined && matches(stored, secret)
}

/** Whether the keys were created with neither of the secrets. Stores nothing. */
export async function isOtherSecret(sql: Sql, secret: string, previous?: string): Promise<boolean> {
  const known = await readFingerprint(sql)
  return known !== undefined && !(await matches(known, secret, previous))
}

/**
 * Returns the ids of the working keys that have not been used since the change of secrets began. These keys may still
 * need the previous secret: a key moves to the new secret when it is used.
 */
export async function readKeysToMove(sql: Sql): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select k.id from api_keys k join key_digest_secret s on coalesce(k.last_used_at, k.created_at) < s.made_at
    where k.revoked_at is null and (k.expires_at is null or k.expires_at > now()) order by k.id`
  return rows.map(({ id }) => id)
}

/**
 * Like `claimSecret`, for a server that starts with both secrets. Stores the fingerprint of the new secret. Each start
 * restarts the change of secrets, because another server may have moved keys in the other direction until now.
 */
export async function changeSecret(sql: Sql, secret: string, previous: string): Promise<boolean> {
  if (!(await claimSecret(sql, secret, previous))) return false
  const isChanged = await isOtherSecret(sql, secret)
  const { salt, fingerprint } = await makeFingerprint(secret)
  const audit = isChanged ? ({ by: null, action: 'key.change-secret' } as const) : undefined
  await sql`
    with changed as (
      update key_digest_secret set salt = ${salt}, fingerprint = ${fingerprint}, made_at = now()
      returning null::int as user_id
    )
    ${auditStep(sql, audit, sql`changed`)}
    select from changed`
  return true
}

/**
 * Makes `secret` the secret for new keys and revokes all existing keys, or does neither. Returns the number of revoked
 * keys.
 */
export async function replaceSecret(sql: Sql, secret: string): Promise<number> {
  const { salt, fingerprint } = await makeFingerprint(secret)
  const [row] = await sql<[{ revoked: number }]>`
    with stored as (
      insert into key_digest_secret (salt, fingerprint) values (${salt}, ${fingerprint})
      on conflict (single) do update set salt = excluded.salt, fingerprint = excluded.fingerprint, made_at = now()
    ), revoked as (
      update api_keys set revoked_at = now() where revoked_at is null returning id
    )
    select count(*)::int as revoked, pg_notify(${KEYS_CHANNEL}, ${SECRET_REPLACED}) from revoked`
  return row.revoked
}

/** Whether the fingerprint is that of the secret, or of the previous secret if there is one. */
export async function matches({ salt, fingerprint }: Fingerprint, secret: string, previous?: string): Promise<boolean> {
  if (timingSafeEqual(await stretch(secret, salt), fingerprint)) return true
  return previous !== undefined && timingSafeEqual(await stretch(previous, salt), fingerprint)
}

async function makeFingerprint(secret: string): Promise<Fingerprint> {
  const salt = randomBytes(SALT_BYTES)
  return { salt, fingerprint: await stretch(secret, salt) }
}

const scryptAsync = promisify<string, Buffer, number, object, Buffer>(scrypt)
/**
 * Latest fingerprint. Cached because a starting server needs the fingerprint twice, and a server with the wrong secret
 * needs the fingerprint every second.
 */
let newest: { readonly of: string; readonly stretched: Promise<Buffer> } | undefined

function stretch(secret: string, salt: Buffer): Promise<Buffer> {
  const of = `${salt.toString('hex')} ${secret}`
  if (newest?.of !== of) newest = { of, stretched: scryptAsync(secret, salt, FINGERPRINT_BYTES, COST) }
  return newest.stretched
}

/** The row that identifies the KEY_DIGEST_SECRET of the stored keys. */
export interface Fingerprint {
  readonly salt: Buffer
  readonly fingerprint: Buffer
}

/**
 * A KEYS_CHANNEL notice that the secret was replaced. The notice contains spaces, so it cannot be mistaken for a key
 * id.
 */
export const SECRET_REPLACED = 'the secret is another'

/** Returns the fingerprint; undefined if no key has been created with this version of the schema. */
export async function readFingerprint(sql: Sql): Promise<Fingerprint | undefined> {
  const [row] = await sql<{ salt: string; fingerprint: string }[]>`select salt, fingerprint from key_digest_secret`
  return row && { salt: Buffer.from(row.salt, 'hex'), fingerprint: Buffer.from(row.fingerprint, 'hex') }
}

/**
 * Stores a fingerprint if there is none. A concurrent call may have stored a different fingerprint, so the caller must
 * read the stored fingerprint afterwards.
 */
export async function insertFingerprint(sql: Sql, { salt, fingerprint }: Fingerprint): Promise<void> {
  await sql`
    insert into key_digest_secret (salt, fingerprint) values (${salt}, ${fingerprint}) on conflict do nothing`
}
