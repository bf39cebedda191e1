/** Checks whether PostgreSQL can store a string in a text column. */

/** Returns the rule that keeps a text column from storing the string, or undefined. Free-form JSON is exempt. */
export function unstorable(text: string): string | undefined {
  if (text.includes('\u0000')) return 'must not contain U+0000'
  return text.isWellFormed() ? undefined : 'must not contain unpaired surrogates'
}
