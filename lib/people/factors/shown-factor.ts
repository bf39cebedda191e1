/** Decides whether a code entered at sign-in can be the person's second factor. */
import type { StoredFactor } from '../../store/people/second-factors.ts'
import type { ShownFactor } from '../../store/people/using-factor.ts'
import { digestRecovery, stepOfCode } from './codes.ts'
import { type DeploymentSecrets, seal, unseal } from './sealed.ts'

/**
 * Returns what the code shows; undefined if the user has no second factor. `missing`: a code is required, but none was
 * entered. `wrong`: the code is not from the user's app. Only the database knows whether a recovery code is correct,
 * and whether a code was used before.
 */
export function readShownFactor(
  factor: StoredFactor | undefined,
  { email, code = '' }: { readonly email: string; readonly code?: string | undefined },
  secrets: DeploymentSecrets,
  nowMs = Date.now()
): ShownFactor | 'missing' | 'wrong' {
  if (factor === undefined || !factor.isConfirmed) return undefined
  if (code.trim() === '') return 'missing'
  const recovery = digestRecovery(code)
  if (recovery !== undefined) return { recovery }
  const own = unseal(factor.secret, email, secrets)
  const step = own && stepOfCode(own.text, code, nowMs)
  if (own === undefined || step === undefined) return 'wrong'
  return { step, sealed: own.isPrevious ? seal(own.text, email, secrets) : factor.secret }
}
