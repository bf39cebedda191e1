/**
 * Removes insignificant white space from JSON. Many clients send white space, but the fast reader accepts only compact
 * JSON.
 */
import { pastString } from './exact-json.ts'

const QUOTE = 34
/** Whether the character is a bracket, comma or colon. White space next to these characters is insignificant. */
const isStructural = (code: number): boolean =>
  code === 123 || code === 125 || code === 91 || code === 93 || code === 44 || code === 58
const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9

/**
 * Removes white space outside strings. Returns undefined if the text is not JSON because a string is unterminated or
 * white space separates two values. Does not detect other syntax errors.
 */
export function compactText(text: string): string | undefined {
  let compact = ''
  let done = 0
  for (let i = 0; i < text.length; ) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      i = pastString(text, i)
      if (i === 0) return undefined
    } else if (isSpace(code)) {
      const from = i
      while (isSpace(text.charCodeAt(i))) i++
      const joins = from === 0 || i === text.length || isStructural(text.charCodeAt(from - 1))
      if (!joins && !isStructural(text.charCodeAt(i))) return undefined
      compact += text.slice(done, from)
      done = i
    } else i++
  }
  return done === 0 ? text : compact + text.slice(done)
}
