/** Charges a trial account for a new trace, in the transaction that writes the trace. */
import type { Execution } from './changes.ts'

/** The account to charge and its maximum number of traces. */
export interface TrialCharge {
  readonly accountId: number
  readonly limit: number
}

/**
 * Prepares the statement that charges the account. The statement fails with error 22012 (division by zero) if the
 * account's allowance is used up.
 */
export const CHARGE = `prepare charge as with charged as (
    update accounts set trial_used = trial_used + 1 where id = $1::int and trial_used < $2::bigint returning 1
  ) select 1 / (count(*) = 1)::int from charged`

export const chargeOf = ({ accountId, limit }: TrialCharge): Execution => ({
  name: 'charge',
  parameters: [String(accountId), String(limit)]
})
