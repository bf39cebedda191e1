/** The one row that says which KEY_DIGEST_SECRET the stored keys were made with (lib/access/digest-secret.ts). */
import type { Sql } from 'postgres'
import { KEYS_CHANNEL } from './keys.ts'

export interface Fingerprint {
  readonly salt: Buffer
  readonly fingerprint: Buffer
}

/** What is said on KEYS_CHANNEL where the secret is replaced; no id of a key has these letters. */
export const SECRET_REPLACED = 'the secret is another'

/** Undefined: no key was ever made with this version of the schema. */
export async function readFingerprint(sql: Sql): Promise<Fingerprint | undefined> {
  const [row] = await sql<{ salt: string; fingerprint: string }[]>`select salt, fingerprint from key_digest_secret`
  return row && { salt: Buffer.from(row.salt, 'hex'), fingerprint: Buffer.from(row.fingerprint, 'hex') }
}

/** Of several that come at once one is stored; whoever calls reads again to see whose. */
export async function insertFingerprint(sql: Sql, { salt, fingerprint }: Fingerprint): Promise<void> {
  await sql`
    insert into key_digest_secret (salt, fingerprint) values (${salt}, ${fingerprint}) on conflict do nothing`
}

/** Stores another fingerprint and revokes every key, both or neither. Gives how many keys were revoked by it. */
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
