/**
 * What of a trace is searched: its name, and the beginnings of the texts in its input and output and in those of its model
 * calls. Only the strings of the JSON count, not its keys, numbers and punctuation.
 */

/** The bounds, in UTF-16 units. */
export const SEARCHED = {
  /** Of one input or output. */
  each: 2000,
  /** Of a trace, without its name. A text that is repeated counts once. */
  all: 8000,
  /** So much of a JSON text is looked at for them. */
  json: 8192,
  /** The first model calls of a trace. */
  calls: 40
} as const

/** JSON texts, or their beginnings; null where there is none. */
interface Body {
  readonly input: string | null
  readonly output: string | null
}

/** A trace with its model calls in their order. */
export interface SearchedTrace extends Body {
  readonly name: string
  readonly calls: readonly Body[]
}

export interface SearchedText {
  readonly place: 'name' | 'input' | 'output'
  readonly text: string
}

export function searchedTexts({ name, calls, ...own }: SearchedTrace): SearchedText[] {
  const texts: SearchedText[] = [{ place: 'name', text: name }]
  const seen = new Set<string>()
  let left: number = SEARCHED.all
  for (const body of [own, ...calls.slice(0, SEARCHED.calls)]) {
    for (const place of ['input', 'output'] as const) {
      const json = body[place]
      if (json === null || left === 0) continue
      for (const text of stringsOf(json, Math.min(SEARCHED.each, left))) {
        if (seen.has(text)) continue
        seen.add(text)
        left -= text.length
        texts.push({ place, text })
      }
    }
  }
  return texts
}

/** A string of JSON, whole or cut off, and the colon that makes it a key. */
const STRING = /"([^"\\]*(?:\\.[^"\\]*)*)"?(\s*:)?/gs
/** The values of these keys are words of protocols: `user`, `text`. */
const KEYS_LEFT_OUT: readonly (string | undefined)[] = ['role', 'type']
/** The longest escape of one unit: `\u0041`. */
const LONGEST_ESCAPE = 6

/** The strings in a JSON text, or in its beginning, that are not keys: as many as have `most` UTF-16 units together. */
export function stringsOf(json: string, most: number): string[] {
  const strings: string[] = []
  let left = most
  let key: string | undefined
  for (const [, inside = '', colon] of json.slice(0, SEARCHED.json).matchAll(STRING)) {
    if (left === 0) break
    const isLeftOut = KEYS_LEFT_OUT.includes(key)
    key = colon === undefined ? undefined : inside
    // Images and sounds are no texts.
    if (colon !== undefined || isLeftOut || inside.startsWith('data:')) continue
    const text = decode(inside.slice(0, LONGEST_ESCAPE * left)).slice(0, left)
    left -= text.length
    const whole = /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text
    if (whole !== '') strings.push(whole)
  }
  return strings
}

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(u.{0,3}$)|(.)|$)/gs
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }

/** Undoes the escapes. One that is cut off is left out. */
function decode(inside: string): string {
  if (!inside.includes('\\')) return inside
  return inside.replace(ESCAPE, (_, hex?: string, _cut?: string, one?: string) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
    return one === undefined ? '' : (CONTROLS[one] ?? one)
  })
}
