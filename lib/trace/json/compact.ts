/** Takes the white space between its parts out of JSON: many clients send it, and only plain text can be read fast. */
import { pastString } from './exact-json.ts'

const QUOTE = 34
/** Brackets, commas and colons. White space beside one of them separates nothing, and can be taken out. */
const isStructural = (code: number): boolean =>
  code === 123 || code === 125 || code === 91 || code === 93 || code === 44 || code === 58
const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9

/**
 * The text without the white space outside its strings. Undefined if that would join two values, or if a string does
 * not end: then the text is not JSON. It may not be JSON for other reasons, which are not looked for.
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
