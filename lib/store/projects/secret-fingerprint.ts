/** The row that identifies the KEY_DIGEST_SECRET of the stored keys (lib/store/projects/digest-secret.ts). */
import type { Sql } from 'postgres'
import { KEYS_CHANNEL } from './keys.ts'

export interface Fingerprint {
  readonly salt: Buffer
  readonly fingerprint: Buffer
}

/** A KEYS_CHANNEL notice that the secret was replaced. It contains spaces, so it cannot be mistaken for a key id. */
export const SECRET_REPLACED = 'the secret is another'

/** Reads the fingerprint; undefined if no key has been created with this version of the schema. */
export async function readFingerprint(sql: Sql): Promise<Fingerprint | undefined> {
  const [row] = await sql<{ salt: string; fingerprint: string }[]>`select salt, fingerprint from key_digest_secret`
  return row && { salt: Buffer.from(row.salt, 'hex'), fingerprint: Buffer.from(row.fingerprint, 'hex') }
}

/**
 * Stores a fingerprint if there is none. A concurrent call may have stored another, so the caller must read it again.
 */
export async function insertFingerprint(sql: Sql, { salt, fingerprint }: Fingerprint): Promise<void> {
  await sql`
    insert into key_digest_secret (salt, fingerprint) values (${salt}, ${fingerprint}) on conflict do nothing`
}

/** Stores a new fingerprint and revokes all keys, or does neither. Returns the number of revoked keys. */
export async function replaceFingerprint(sql: Sql, { salt, fingerprint }: Fingerprint): Promise<number> {
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
