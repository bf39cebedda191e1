/**
 * Selects a trace's searchable texts: the trace's name, its metadata, the errors of its failed steps, and the
 * beginnings of the strings in the inputs and outputs of the trace, its model calls and its tool calls. JSON keys,
 * numbers and punctuation are not searched.
 */

/** Version of the searched texts. A segment of an earlier version lacks texts, so it is rebuilt. */
export const TEXTS = 2

/** Limits on searchable texts. Lengths are in UTF-16 code units. */
export const SEARCHED = {
  /** Maximum length per input or output. */
  each: 2000,
  /**
   * Maximum length per trace of the inputs and outputs of the trace and its model calls. A repeated string counts once.
   */
  all: 8000,
  /** Maximum length per trace of the inputs and outputs of tools. */
  tools: 8000,
  /** Maximum length of the metadata. */
  metadata: 2000,
  /** Maximum length per error, and per trace of its errors. */
  error: 1000,
  errors: 4000,
  /** Maximum length of JSON text that is scanned for strings. */
  json: 8192,
  /** Maximum number of model calls, and of tool calls, searched per trace, starting with the first. */
  calls: 40,
  /** Maximum number of failed steps searched per trace, starting with the first by the end of the steps. */
  failures: 20
} as const

/** JSON texts, possibly truncated. Null if absent. */
interface Body {
  /** Id of the span; undefined for the trace. */
  readonly id?: string | undefined
  readonly input: string | null
  readonly output: string | null
}

/** A trace with its model calls, its tool calls, and the type and message of each failed step, in order. */
export interface SearchedTrace extends Omit<Body, 'id'> {
  readonly name: string
  readonly metadata: string | null
  readonly calls: readonly Body[]
  readonly tools: readonly Body[]
  readonly errors: readonly { readonly id: string; readonly text: string }[]
}

export interface SearchedText {
  readonly place: 'name' | 'input' | 'output' | 'error' | 'metadata'
  readonly text: string
  /** Id of the span with the text; undefined for a text of the trace. */
  readonly spanId?: string | undefined
  /** JSON from which the text comes. */
  readonly json?: string | undefined
}

export function searchedTexts(trace: SearchedTrace): SearchedText[] {
  const { name, metadata, calls, tools, errors, input, output } = trace
  const texts: SearchedText[] = [{ place: 'name', text: name }]
  const seen = new Set<string>()
  /** Adds strings that the trace does not repeat. Returns their length. */
  const add = (place: SearchedText['place'], strings: readonly string[], spanId?: string, json?: string): number => {
    let length = 0
    for (const text of strings) {
      if (seen.has(text)) continue
      seen.add(text)
      length += text.length
      texts.push({ place, text, spanId, json })
    }
    return length
  }
  const addBodies = (bodies: readonly Body[], most: number) => {
    let left = most
    for (const body of bodies) {
      for (const place of ['input', 'output'] as const) {
        const json = body[place]
        if (json !== null && left > 0) left -= add(place, stringsOf(json, Math.min(SEARCHED.each, left)), body.id, json)
      }
    }
  }
  addBodies([{ input, output }, ...calls.slice(0, SEARCHED.calls)], SEARCHED.all)
  let left: number = SEARCHED.errors
  for (const error of errors.slice(0, SEARCHED.failures)) {
    if (left > 0 && error.text !== '') left -= add('error', [cut(error.text, Math.min(SEARCHED.error, left))], error.id)
  }
  addBodies(tools.slice(0, SEARCHED.calls), SEARCHED.tools)
  if (metadata !== null) add('metadata', stringsOf(metadata, SEARCHED.metadata))
  return texts
}

const BACKSLASH = 0x5c
const COLON = 0x3a
/** Keys whose values are protocol keywords, such as `user` and `text`, and are not searched. */
const KEYS_LEFT_OUT: readonly (string | undefined)[] = ['role', 'type']
/** Length of the longest escape for one code unit: `\u0041`. */
const LONGEST_ESCAPE = 6

/** Returns a JSON text's strings, except keys, up to `most` code units in total. The text may be truncated. */
export function stringsOf(json: string, most: number): string[] {
  const whole = json.slice(0, SEARCHED.json)
  const strings: string[] = []
  let left = most
  let key: string | undefined
  for (let at = whole.indexOf('"'), end: number; at !== -1 && left > 0; at = whole.indexOf('"', end + 1)) {
    end = endOf(whole, at + 1)
    const inside = whole.slice(at + 1, end)
    const isLeftOut = KEYS_LEFT_OUT.includes(key)
    const isKey = isColonNext(whole, end + 1)
    key = isKey ? inside : undefined
    // Embedded images and audio are skipped.
    if (isKey || isLeftOut || inside.startsWith('data:')) continue
    const decoded = decode(inside.slice(0, LONGEST_ESCAPE * left))
    const kept = cut(decoded, left)
    left -= Math.min(decoded.length, left)
    if (kept !== '') strings.push(kept)
  }
  return strings
}

/** Returns the beginning of a text, without half of a surrogate pair at the end. */
function cut(text: string, most: number): string {
  const beginning = text.slice(0, most)
  const last = beginning.charCodeAt(beginning.length - 1)
  return last >= 0xd800 && last <= 0xdbff ? beginning.slice(0, -1) : beginning
}

/** Returns the position of a string's closing quote, or the text's length if the text is truncated. */
function endOf(json: string, from: number): number {
  for (let quote = json.indexOf('"', from); quote !== -1; quote = json.indexOf('"', quote + 1)) {
    let before = quote
    while (before > from && json.charCodeAt(before - 1) === BACKSLASH) before--
    if ((quote - before) % 2 === 0) return quote
  }
  return json.length
}

/** Whether a colon follows, after optional white space. */
function isColonNext(json: string, from: number): boolean {
  let at = from
  while (json.charCodeAt(at) <= 0x20) at++
  return json.charCodeAt(at) === COLON
}

const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }
/** Number of hexadecimal digits in a `\u` escape. */
const HEX_DIGITS = 4

/** Decodes escapes. Omits a truncated escape. */
function decode(inside: string): string {
  let decoded = ''
  let at = 0
  for (let slash = inside.indexOf('\\'); slash !== -1; slash = inside.indexOf('\\', at)) {
    decoded += inside.slice(at, slash)
    const escaped = inside[slash + 1]
    const isUnit = escaped === 'u'
    at = slash + 2 + (isUnit ? HEX_DIGITS : 0)
    if (escaped === undefined || at > inside.length) return decoded
    decoded += isUnit
      ? String.fromCharCode(Number.parseInt(inside.slice(slash + 2, at), 16))
      : (CONTROLS[escaped] ?? escaped)
  }
  return decoded + inside.slice(at)
}
