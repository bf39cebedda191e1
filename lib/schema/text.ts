/** Checks whether PostgreSQL can store a string in a text column. */

/**
 * If a text column cannot store the string, returns the rule that the string breaks; otherwise undefined. Free-form
 * JSON is exempt.
 */
export function unstorable(text: string): string | undefined {
  if (text.includes('\u0000')) return 'must not contain U+0000'
  return text.isWellFormed() ? undefined : 'must not contain unpaired surrogates'
}
