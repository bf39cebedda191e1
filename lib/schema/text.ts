/** Checks whether PostgreSQL can store a string in a text column. */

/**
 * Returns the rule that the string breaks if a text column cannot store it; otherwise undefined. Free-form JSON is
 * exempt.
 */
export function unstorable(text: string): string | undefined {
  if (text.includes('\u0000')) return 'must not contain U+0000'
  return text.isWellFormed() ? undefined : 'must not contain unpaired surrogates'
}
