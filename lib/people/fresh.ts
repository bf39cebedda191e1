/**
 * Defines a fresh sign-in: proof that the person is present now. Changes that would make a stolen session last (a first
 * password, keys, members) require a fresh sign-in.
 */
import { Refusal } from '../errors.ts'
import type { Visitor } from './visit.ts'

/** Time for which a sign-in stays fresh, in minutes. */
const FRESH_MINUTES = 15

/** Maximum age at which an earlier sign-in at the provider counts as fresh. Most of FRESH_MINUTES then remains. */
export const FRESH_SIGN_IN_S = 60

/** Time allowed for the redirect back from the provider and for clock differences. */
const WAY_BACK_S = 300

/** Whether, according to the provider, the person has just authenticated. */
export const isJustProven = (authTime: number | undefined, nowMs: number): boolean =>
  authTime !== undefined && authTime + FRESH_SIGN_IN_S + WAY_BACK_S >= nowMs / 1000

/**
 * Throws `fresh_sign_in_required` if the sign-in is not fresh. Visitors from a trusted proxy are exempt, because the
 * proxy controls sign-ins.
 */
export function requireFresh({ session, provenAt }: Pick<Visitor, 'session' | 'provenAt'>, nowMs = Date.now()): void {
  if (session === null) return
  if (provenAt !== null && Date.parse(provenAt) + FRESH_MINUTES * 60_000 > nowMs) return
  const message = `Sign in again to continue: this requires a sign-in within the last ${FRESH_MINUTES} minutes.`
  throw new Refusal('fresh_sign_in_required', message)
}
