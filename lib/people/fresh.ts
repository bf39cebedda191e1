/**
 * A fresh sign-in: proof that the person is there now. What would make a stolen session last (a first password, keys,
 * members) asks for one.
 */
import { Refusal } from '../errors.ts'
import type { Visitor } from './visit.ts'

/** For how long a sign-in is fresh. */
const FRESH_MINUTES = 15

/**
 * If a provider is asked for a fresh sign-in, the person may have signed in there this long ago, so that most of the
 * time above is left.
 */
export const FRESH_SIGN_IN_S = 60

/** How long the way back from the provider may take, beside clocks that differ. */
const WAY_BACK_S = 300

/** Whether a provider says that the person has just proved their identity. */
export const isJustProven = (authTime: number | undefined, nowMs: number): boolean =>
  authTime !== undefined && authTime + FRESH_SIGN_IN_S + WAY_BACK_S >= nowMs / 1000

/** Throws `fresh_sign_in_required`. A trusted proxy answers for how people sign in, so it is not asked. */
export function requireFresh({ session, provenAt }: Pick<Visitor, 'session' | 'provenAt'>, nowMs = Date.now()): void {
  if (session === null) return
  if (provenAt !== null && Date.parse(provenAt) + FRESH_MINUTES * 60_000 > nowMs) return
  const message = `Sign in again to continue: this needs a sign-in of the last ${FRESH_MINUTES} minutes.`
  throw new Refusal('fresh_sign_in_required', message)
}
