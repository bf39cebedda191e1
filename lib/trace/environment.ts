/** Environment labels (specification 2.10) are slugs in lower case. Two names are reserved. */

/** The environment that is stored with a trace whose key has none. Answers show it as null. */
export const UNASSIGNED = 'unassigned'

// The label is tested before it is folded, because other letters, such as the Kelvin sign, fold into a to z.
const LABEL = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/
const RESERVED = [UNASSIGNED, 'all']

/** Thrown for a label that a key cannot have. The message is one line that says the rule. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError'
}

/** The label folded to lower case. Throws an EnvironmentError. */
export function parseEnvironment(text: string): string {
  const label = text.toLowerCase()
  if (RESERVED.includes(label)) throw new EnvironmentError(`the environment name '${label}' is reserved`)
  if (LABEL.test(text)) return label
  throw new EnvironmentError(
    `environment ${JSON.stringify(text)} must be 1 to 32 letters, digits, underscores and hyphens, and begin with a letter or digit`
  )
}
