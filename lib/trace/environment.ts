/** Parses environment labels (specification 2.10), which are lower-case slugs. Two names are reserved. */

/** Environment stored with a trace whose key has no environment. Responses show null instead. */
export const UNASSIGNED = 'unassigned'

// The label is tested before its conversion to lower case, because the conversion turns some other letters, such as the
// Kelvin sign, into a–z.
const LABEL = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/
const RESERVED = [UNASSIGNED, 'all']

/** Thrown for an invalid label. The message names the violated rule in one line. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError'
}

/** Returns the label in lower case. Throws an EnvironmentError if the label is reserved or malformed. */
export function parseEnvironment(text: string): string {
  const label = text.toLowerCase()
  if (RESERVED.includes(label)) throw new EnvironmentError(`the environment name '${label}' is reserved`)
  if (LABEL.test(text)) return label
  throw new EnvironmentError(
    `environment ${JSON.stringify(text)} must be 1 to 32 letters, digits, underscores or hyphens, ` +
      'beginning with a letter or digit'
  )
}
