/**
 * Hashes and checks passwords, stored as `scrypt$N$r$p$salt$hash`. The parameters are stored with each password, so
 * that the cost can be raised later. Computing a hash takes 32 MiB and a third of a second of CPU time, so only a few
 * hashes are computed at a time. Further passwords wait in a short queue, which also limits the number of passwords per
 * party. Passwords beyond the queue's limits are rejected.
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { Refusal } from '../errors.ts'
import { FairGate } from '../limits/fair-gate.ts'

export const MIN_PASSWORD = 12
export const MAX_PASSWORD = 1000

const COST = { N: 2 ** 15, r: 8, p: 3 }
const SALT_BYTES = 16
const HASH_BYTES = 32
/** Memory limit: twice the memory that scrypt needs (128 * N * r bytes). */
const MAX_MEMORY = 64 * 1024 * 1024
const AT_ONCE = 2
/**
 * Maximum number of waiting passwords, in total and per party. The last password in a full queue waits about five
 * seconds.
 */
const MOST_WAITING = 30
const MOST_OF_ONE = 10
const RETRY_AFTER_S = 5

const scryptAsync = promisify<string, Buffer, number, object, Buffer>(scrypt)
const gate = new FairGate(AT_ONCE)
const waiting = new Map<string, number>()
/** Party for new passwords, which are set by people who have already proved their identity. */
const KNOWN = 'known'

/** Returns the rule that a new password breaks; undefined if the password is acceptable. */
export function faultOfPassword(password: string): string | undefined {
  const length = [...password].length
  if (length < MIN_PASSWORD) return `must have at least ${MIN_PASSWORD} characters`
  if (length > MAX_PASSWORD) return `must have at most ${MAX_PASSWORD} characters`
  return undefined
}

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const hash = await stretch(password, salt, COST, KNOWN)
  const { N, r, p } = COST
  return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/**
 * A stored password that belongs to nobody. For users without a password, the check uses this stored password and
 * therefore takes as long as for other users.
 */
const NOBODY = ['scrypt', COST.N, COST.r, COST.p, 'A'.repeat(22), 'A'.repeat(43)].join('$')

/** Whether a string is a well-formed stored password whose cost is at least COST and within the cost limits. */
export function isStoredPassword(text: string): boolean {
  const [, N, r, p] = (/^scrypt\$(\d{1,9})\$(\d{1,2})\$(\d{1,2})\$[\w-]{22}\$[\w-]{43}$/.exec(text) ?? []).map(Number)
  if (N === undefined || r === undefined || p === undefined) return false
  const isPower = N >= COST.N && Number.isInteger(Math.log2(N))
  return isPower && r >= COST.r && 128 * N * r < MAX_MEMORY && p >= 1 && p <= 16
}

/**
 * Resolves to whether the password matches the stored password. Takes equally long if no password is stored. The check
 * waits for earlier checks of the same party (a network or a device). The `onTurn` callback is awaited just before the
 * check, but is not called if the queue rejects the password. If `onTurn` throws, the password is not checked.
 */
export async function isPassword(password: string, stored: string | null, party: string, onTurn?: () => Promise<void>) {
  const [, N, r, p, salt = '', hash = ''] = (stored ?? NOBODY).split('$')
  // An overlong password matches no stored password, but scrypt would process all of its characters.
  const given = password.slice(0, 2 * MAX_PASSWORD)
  const cost = { N: Number(N), r: Number(r), p: Number(p) }
  const stretched = await stretch(given, Buffer.from(salt, 'base64url'), cost, party, onTurn)
  return timingSafeEqual(stretched, Buffer.from(hash, 'base64url')) && stored !== null
}

async function stretch(password: string, salt: Buffer, cost: typeof COST, party: string, onTurn?: () => Promise<void>) {
  refuseIfFull(party)
  waiting.set(party, countWaiting(party) + 1)
  await gate.enter(party)
  const left = countWaiting(party) - 1
  if (left === 0) waiting.delete(party)
  else waiting.set(party, left)
  try {
    await onTurn?.()
    // Keyboards encode the same text in different ways. After normalization, all encodings have the same hash.
    return await scryptAsync(password.normalize('NFKC'), salt, HASH_BYTES, { ...cost, maxmem: MAX_MEMORY })
  } finally {
    gate.leave()
  }
}

const countWaiting = (party: string): number => waiting.get(party) ?? 0

/** Throws `too_many_attempts` if the queue is full for this party. */
export function refuseIfFull(party: string): void {
  const all = [...waiting.values()].reduce((sum, count) => sum + count, 0)
  if (all < MOST_WAITING && countWaiting(party) < MOST_OF_ONE) return
  const message = 'Too many passwords are being checked; try again in a few seconds.'
  throw new Refusal('too_many_attempts', message, { 'Retry-After': String(RETRY_AFTER_S) })
}
