/**
 * Creates and parses API keys: `<KEY_PREFIX>_live_<keyId>_<secret>`. The key id may be shown. Only the key's holder
 * knows the secret; the database stores the secret's keyed digest.
 */
import { createHmac, randomInt } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const KEY_ID_LENGTH = 16
/** 43 characters from a 62-character alphabet encode 256 bits. */
const SECRET_LENGTH = 43
const KEY_REST = new RegExp(`^([0-9A-Za-z]{${KEY_ID_LENGTH}})_([0-9A-Za-z]{${SECRET_LENGTH}})$`)
const SECRET_IN_TEXT = new RegExp(`(_live_[0-9A-Za-z]{${KEY_ID_LENGTH}}_)[0-9A-Za-z]+`, 'g')

export interface KeyParts {
  readonly keyId: string
  readonly secret: string
}

/** Creates a key. Returns its parts and the whole key, which cannot be retrieved later. */
export function generateKey(prefix: string): KeyParts & { readonly key: string } {
  const keyId = randomText(KEY_ID_LENGTH)
  const secret = randomText(SECRET_LENGTH)
  return { key: `${prefix}_live_${keyId}_${secret}`, keyId, secret }
}

/** Splits a key into its parts. Returns undefined if the key is malformed. The prefix may itself contain `_`. */
export function parseKey(prefix: string, token: string): KeyParts | undefined {
  const start = `${prefix}_live_`
  if (!token.startsWith(start)) return undefined
  const parts = KEY_REST.exec(token.slice(start.length))
  return parts === null ? undefined : { keyId: parts[1]!, secret: parts[2]! }
}

/** Masks key secrets in a string, such as a URL that contains a key. */
export function maskSecrets(text: string): string {
  return text.includes('_live_') ? text.replaceAll(SECRET_IN_TEXT, '$1…') : text
}

/** Returns a secret's stored form: 32 bytes of HMAC-SHA256 under the deployment's KEY_DIGEST_SECRET. */
export function digestSecret(secret: string, digestSecret: string): Buffer {
  return createHmac('sha256', digestSecret).update(secret).digest()
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}
