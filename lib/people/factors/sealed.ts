/**
 * Encrypts the secrets of second factors, because a copy of the database or a backup must not be enough to compute
 * codes. The key is derived from KEY_DIGEST_SECRET. AES-256-GCM also binds each secret to its user's address, which
 * stays the same in a backup, so a secret cannot be moved to another user's row.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** KEY_DIGEST_SECRET, and the secret that it replaces, if any. */
export interface DeploymentSecrets {
  readonly digestSecret: string | undefined
  readonly previousSecret?: string | undefined
}

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

const keyOf = (secret: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', 'spoor second factors', 32))

/** Encrypts a user's secret. */
export function seal(text: string, email: string, { digestSecret = '' }: DeploymentSecrets): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, keyOf(digestSecret), nonce).setAAD(Buffer.from(email))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

/**
 * Decrypts a user's secret with KEY_DIGEST_SECRET or with the secret that it replaces. Returns undefined if neither
 * works, for example after a restore into a deployment with another KEY_DIGEST_SECRET. `isPrevious` means that the
 * secret should be encrypted again.
 */
export function unseal(sealed: string, email: string, { digestSecret = '', previousSecret }: DeploymentSecrets) {
  for (const secret of [digestSecret, ...(previousSecret === undefined ? [] : [previousSecret])]) {
    const text = decrypt(Buffer.from(sealed, 'base64url'), email, secret)
    if (text !== undefined) return { text, isPrevious: secret !== digestSecret }
  }
  return undefined
}

function decrypt(bytes: Buffer, email: string, secret: string): string | undefined {
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  const body = NONCE_BYTES + TAG_BYTES
  const decipher = createDecipheriv(ALGORITHM, keyOf(secret), bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES
  })
  decipher.setAAD(Buffer.from(email)).setAuthTag(bytes.subarray(NONCE_BYTES, body))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(body)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}
