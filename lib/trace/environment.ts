/** Environment labels (specification 2.10): slugs in lower case; two names are taken. */

/** Stored on traces whose key had no environment; read as null. */
export const UNASSIGNED = 'unassigned'

// Tested before folding: other letters, such as the Kelvin sign, fold into a to z.
const LABEL = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/
const RESERVED = [UNASSIGNED, 'all']

/** A label that a key cannot have; the message is one line that says the rule. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError'
}

/** The label folded to lower case, or an EnvironmentError. */
export function parseEnvironment(text: string): string {
  const label = text.toLowerCase()
  if (RESERVED.includes(label)) throw new EnvironmentError(`the environment name '${label}' is reserved`)
  if (LABEL.test(text)) return label
  throw new EnvironmentError(
    `environment ${JSON.stringify(text)} must be 1 to 32 letters, digits, underscores and hyphens, and begin with a letter or digit`
  )
}
