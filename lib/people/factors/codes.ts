/**
 * Second factors: codes of authenticator apps (TOTP, RFC 6238), and recovery codes for people who lost the app. A code
 * of the previous or the next half minute is accepted too, because clocks differ.
 */
import { hash, randomInt } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'

const PERIOD_S = 30
const WINDOW = 1
/** 160 bits, as RFC 4226 recommends. */
const SECRET_BYTES = 20

/** Without 0, 1, i, l and o, which people confuse. */
const ALPHABET = '23456789abcdefghjkmnpqrstuvwxyz'
const RECOVERY_CODES = 10
/** 16 characters of 31 have 79 bits, so a plain hash keeps a recovery code secret. */
const RECOVERY_LENGTH = 16

const totpOf = (secret: string, label = ''): TOTP =>
  new TOTP({
    secret: Secret.fromBase32(secret),
    issuer: 'spoor',
    label,
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_S
  })

/** Returns a new secret in base 32, which can be typed into an app. */
export const makeFactorSecret = (): string => new Secret({ size: SECRET_BYTES }).base32

/** Returns the address that an app reads from a QR code. `label` is the user's e-mail address. */
export const enrolAddress = (secret: string, label: string): string => totpOf(secret, label).toString()

/** Returns the time step to which a code belongs; undefined if the code is wrong. */
export function stepOfCode(secret: string, code: string, nowMs = Date.now()): number | undefined {
  const digits = code.replace(/[\s-]/g, '')
  if (!/^\d{6}$/.test(digits)) return undefined
  const delta = totpOf(secret).validate({ token: digits, timestamp: nowMs, window: WINDOW })
  return delta === null ? undefined : Math.floor(nowMs / 1000 / PERIOD_S) + delta
}

/** Returns new recovery codes, such as `k7m2-9xqa-…`, and their stored form. */
export function makeRecoveryCodes(): { readonly codes: readonly string[]; readonly digests: readonly string[] } {
  const codes = Array.from({ length: RECOVERY_CODES }, () =>
    Array.from({ length: RECOVERY_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)])
      .join('')
      .replace(/(.{4})(?=.)/g, '$1-')
  )
  return { codes, digests: codes.map(code => digestRecovery(code) as string) }
}

/** Returns the stored form of a recovery code; undefined if the text cannot be one. */
export function digestRecovery(code: string): string | undefined {
  const plain = code.toLowerCase().replace(/[\s-]/g, '')
  return /^[2-9a-z]{16}$/.test(plain) ? hash('sha256', `recovery code ${plain}`, 'hex') : undefined
}
