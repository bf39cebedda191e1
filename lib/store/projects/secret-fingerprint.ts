/** The one row that says which KEY_DIGEST_SECRET the stored keys were made with (lib/access/digest-secret.ts). */
import type { Sql } from 'postgres'
import { KEYS_CHANNEL } from './keys.ts'

export interface Fingerprint {
  readonly salt: Buffer
  readonly fingerprint: Buffer
}

/** The notice on KEYS_CHANNEL that the secret was replaced. No id of a key has spaces, so it cannot be one. */
export const SECRET_REPLACED = 'the secret is another'

/** Reads the fingerprint. Undefined if no key was ever made with this version of the schema. */
export async function readFingerprint(sql: Sql): Promise<Fingerprint | undefined> {
  const [row] = await sql<{ salt: string; fingerprint: string }[]>`select salt, fingerprint from key_digest_secret`
  return row && { salt: Buffer.from(row.salt, 'hex'), fingerprint: Buffer.from(row.fingerprint, 'hex') }
}

/** Stores a fingerprint if there is none. Of several at once only one is stored, so the caller must read it again. */
export async function insertFingerprint(sql: Sql, { salt, fingerprint }: Fingerprint): Promise<void> {
  await sql`
    insert into key_digest_secret (salt, fingerprint) values (${salt}, ${fingerprint}) on conflict do nothing`
}

/** Stores another fingerprint and revokes all keys: both or neither. Returns how many keys were revoked. */
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
