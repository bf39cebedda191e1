/** The rule of texts that PostgreSQL stores in a text column. */

/** Why a text column cannot store this text; undefined if it can. Free JSON can hold either character. */
export function unstorable(text: string): string | undefined {
  if (text.includes('\u0000')) return 'must not contain U+0000'
  return text.isWellFormed() ? undefined : 'must not contain unpaired surrogates'
}
