/**
 * Scans compact JSON. The scanner checks each value, advances past it, and builds its RFC 8785 canonical form from
 * slices of the text. Parsing the text into objects and serialising the objects takes several times as long
 * (test/bench/RESULTS.md, "Reading bodies").
 *
 * The scanner accepts only plain JSON: no white space outside strings (lib/trace/json/compact.ts removes it) and no
 * duplicate names in an object. For any other text, its methods throw NOT_PLAIN. The body then takes the slow path,
 * which also produces the error message.
 *
 * Methods that return a canonical form return an empty string if the scanned text is already canonical.
 */
import { FIRST_UNORDERED_BYTE } from './byte-text.ts'
import { canonicalNumber } from './canonical-number.ts'
import { Escapes } from './escapes.ts'

/** Thrown if a text is not plain. The error is shared, because creating an error costs more than reading a body. */
export const NOT_PLAIN = new Error('not plain JSON')

const QUOTE = 34
const COMMA = 44
const MINUS = 45
const SLASH = 47
const ZERO = 48
const NINE = 57
const COLON = 58
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const SMALL_F = 102
const SMALL_N = 110
const SMALL_T = 116
const SMALL_U = 117
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

/** Maximum number of digits with which every number is exact as a double. */
export const EXACT_DIGITS = 15
/** Matches a canonical fraction, which has no trailing zero and is not so small that JavaScript writes an exponent. */
const CANONICAL_FRACTION = /-?(?:[1-9]\d*|0(?!\.0{6}))\.\d*[1-9](?=[,}\]])/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const HEX = /^[\da-fA-F]{4}$/

/** A member of an object, with the positions of its start, its value's start and its end. */
interface Member {
  /** The unescaped name if the text spells it with escapes; otherwise empty. */
  readonly name: string
  /** The name's canonical form; empty if the name is already in this form. */
  readonly nameCanonical: string
  readonly from: number
  readonly valueFrom: number
  readonly end: number
  /** The value's canonical form; empty if the value is already in this form. */
  readonly canonical: string
}

export class Scanner {
  text = ''
  /** Position of the next value. */
  at = 0
  readonly #escapes = new Escapes()
  /** Index of the first escape at or after `at`. `#escape` is its position. */
  #nextEscape = 0
  #escape = 0
  /** Canonical form, with quotes, of the last scanned name. Empty if the text already has that form. */
  nameCanonical = ''
  /** Whether the scanner has passed a string that is spelled differently in canonical form. */
  isRespelt = false
  #escapedAt = -1
  #level = 0
  #maxLevel = 0
  /** Names that first differ in two characters from this one on cannot be compared. */
  #firstUnordered = Number.POSITIVE_INFINITY

  /**
   * Starts scanning a text without characters below U+0020 (see holdsControls in exact-json.ts). Throws NOT_PLAIN for a
   * text with an invalid escape, and for a byte text with an escape that spells a character by number: its canonical
   * form would not be a byte text.
   */
  start(text: string, maxDepth: number, isByteText = false): void {
    this.text = text
    this.#firstUnordered = isByteText ? FIRST_UNORDERED_BYTE : Number.POSITIVE_INFINITY
    this.at = 0
    this.#level = 0
    this.#maxLevel = maxDepth
    if (!this.#escapes.find(text) || (isByteText && this.#escapes.hasNumbered)) throw NOT_PLAIN
    this.#nextEscape = 0
    this.#escape = this.#escapes.places[0] as number
    this.#escapedAt = -1
  }

  /** Checks that the whole text was scanned, and releases the text. */
  end(): void {
    if (this.at !== this.text.length) throw NOT_PLAIN
    this.text = ''
  }

  /** If the next character has this code, advances past it and returns true; otherwise returns false. */
  passes(code: number): boolean {
    if (this.text.charCodeAt(this.at) !== code) return false
    this.at++
    return true
  }

  /** If `text` comes next, advances past it and returns true; otherwise returns false. */
  passesText(text: string): boolean {
    if (!this.text.startsWith(text, this.at)) return false
    this.at += text.length
    return true
  }

  /** Advances past the opening bracket of an object or array. */
  open(code: number): void {
    if (!this.passes(code) || ++this.#level > this.#maxLevel) throw NOT_PLAIN
  }

  /** Advances past a comma or the closing bracket `code`. Returns true for the bracket. */
  closes(code: number): boolean {
    const next = this.text.charCodeAt(this.at++)
    if (next === COMMA) return false
    if (next !== code) throw NOT_PLAIN
    this.#level--
    return true
  }

  /** Whether the object or array just opened is empty. If so, advances past the closing bracket. */
  isEmpty(code: number): boolean {
    if (!this.passes(code)) return false
    this.#level--
    return true
  }

  /** Advances past a name and its colon, and returns the name. */
  name(): string {
    const from = this.at
    const escaped = this.#escapedName()
    return escaped === '' ? this.text.slice(from + 1, this.at - 2) : escaped
  }

  /** Advances past a name and its colon. Returns the name if it contains escapes, otherwise an empty string. */
  #escapedName(): string {
    const from = this.at
    this.nameCanonical = this.string()
    const end = this.at
    if (!this.passes(COLON)) throw NOT_PLAIN
    return this.#escapedAt === from ? JSON.parse(this.text.slice(from, end)) : ''
  }

  /** Advances past any value and returns its canonical form, or an empty string if already canonical. */
  value(): string {
    switch (this.text.charCodeAt(this.at)) {
      case QUOTE:
        return this.string()
      case OPEN_BRACE:
        return this.object()
      case OPEN_BRACKET:
        return this.#array()
      case SMALL_T:
        return this.#word('true')
      case SMALL_F:
        return this.#word('false')
      case SMALL_N:
        return this.#word('null')
      default:
        return this.number()
    }
  }

  string(): string {
    const { text, at } = this
    if (text.charCodeAt(at) !== QUOTE) throw NOT_PLAIN
    const close = text.indexOf('"', at + 1)
    if (close < 0) throw NOT_PLAIN
    if (this.#escape > close) {
      this.at = close + 1
      return ''
    }
    return this.#escapedString(at, close)
  }

  #escapedString(open: number, firstQuote: number): string {
    const { text } = this
    const first = this.#nextEscape
    const close = this.#passEscapedQuotes(firstQuote)
    this.at = close + 1
    this.#escapedAt = open
    if (!this.#escapes.hasRespelt || this.#areCanonical(first)) return ''
    this.isRespelt = true
    return JSON.stringify(JSON.parse(text.slice(open, close + 1)))
  }

  /** Whether the escapes from the one with index `first` up to the next are canonical. Throws if digits are missing. */
  #areCanonical(first: number): boolean {
    const { text } = this
    const { places } = this.#escapes
    let areCanonical = true
    for (let i = first; i < this.#nextEscape; i++) {
      const at = (places[i] as number) + 1
      const code = text.charCodeAt(at)
      if (code === SMALL_U && !HEX.test(text.slice(at + 1, at + 5))) throw NOT_PLAIN
      if (code === SMALL_U || code === SLASH) areCanonical = false
    }
    return areCanonical
  }

  /** Finds the string's closing quote, at or after `firstQuote`, and advances past the escapes before that quote. */
  #passEscapedQuotes(firstQuote: number): number {
    const { text } = this
    const { places } = this.#escapes
    let next = this.#nextEscape
    for (let quote = firstQuote; quote >= 0; quote = text.indexOf('"', quote + 1)) {
      let last = -1
      for (; (places[next] as number) < quote; next++) last = places[next] as number
      if (last === quote - 1) continue
      this.#nextEscape = next
      this.#escape = places[next] as number
      return quote
    }
    throw NOT_PLAIN
  }

  number(): string {
    const { text, at } = this
    let end = at
    let code = text.charCodeAt(end)
    if (code > ZERO && code <= NINE) {
      while (code >= ZERO && code <= NINE) code = text.charCodeAt(++end)
      // The number has no fraction and no exponent.
      if (end - at <= EXACT_DIGITS && (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET)) {
        this.at = end
        return ''
      }
    } else if (code !== ZERO && code !== MINUS) throw NOT_PLAIN
    CANONICAL_FRACTION.lastIndex = at
    if (CANONICAL_FRACTION.test(text) && CANONICAL_FRACTION.lastIndex - at <= EXACT_DIGITS) {
      this.at = CANONICAL_FRACTION.lastIndex
      return ''
    }
    NUMBER.lastIndex = at
    if (!NUMBER.test(text)) throw NOT_PLAIN
    this.at = NUMBER.lastIndex
    const literal = text.slice(at, this.at)
    const canonical = canonicalNumber(literal)
    return canonical === literal ? '' : canonical
  }

  null(): void {
    this.#word('null')
  }

  #word(word: string): string {
    if (!this.passesText(word)) throw NOT_PLAIN
    return ''
  }

  #array(): string {
    this.open(OPEN_BRACKET)
    if (this.isEmpty(CLOSE_BRACKET)) return ''
    // `canonical` already covers the text before this position.
    let done = this.at - 1
    let canonical = ''
    do {
      const from = this.at
      const item = this.value()
      if (item !== '') {
        canonical += this.text.slice(done, from) + item
        done = this.at
      }
    } while (!this.closes(CLOSE_BRACKET))
    return canonical === '' ? '' : canonical + this.text.slice(done, this.at)
  }

  object(): string {
    const { text } = this
    this.open(OPEN_BRACE)
    if (this.isEmpty(CLOSE_BRACE)) return ''
    const members: Member[] = []
    let isCanonical = true
    let isSorted = true
    do {
      const from = this.at
      const name = this.#escapedName()
      const { nameCanonical } = this
      const valueFrom = this.at
      const canonical = this.value()
      if (canonical !== '' || nameCanonical !== '') isCanonical = false
      const member = { name, nameCanonical, from, valueFrom, end: this.at, canonical }
      if (members.length > 0 && this.#compareNames(members[members.length - 1] as Member, member) >= 0) isSorted = false
      members.push(member)
    } while (!this.closes(CLOSE_BRACE))
    if (isSorted && isCanonical) return ''
    if (!isSorted) this.#sortMembers(members)
    let canonical = '{'
    for (let i = 0; i < members.length; i++) {
      const member = members[i] as Member
      if (i > 0) canonical += ','
      canonical += canonicalMember(text, member)
    }
    return `${canonical}}`
  }

  /**
   * Sorts members by the UTF-16 code units of their names, as RFC 8785 requires. Throws NOT_PLAIN if a name repeats.
   * Insertion sort is fastest for the few members of a typical object, but slow for many.
   */
  #sortMembers(members: Member[]): void {
    if (members.length > 24) members.sort((a, b) => this.#compareNames(a, b))
    for (let i = 1; i < members.length; i++) {
      const member = members[i] as Member
      let place = i
      while (place > 0 && this.#compareNames(members[place - 1] as Member, member) > 0) {
        members[place] = members[place - 1] as Member
        place--
      }
      members[place] = member
      if (place > 0 && this.#compareNames(members[place - 1] as Member, member) === 0) throw NOT_PLAIN
    }
  }

  /**
   * Returns a negative number if the first name sorts first, 0 if equal. Names without escapes are compared in place.
   * Throws NOT_PLAIN if the order of byte texts may differ from the order of the names.
   */
  #compareNames(a: Member, b: Member): number {
    const { text } = this
    if (a.name !== '' || b.name !== '') return this.#compareTexts(nameOf(text, a), nameOf(text, b))
    for (let i = 1; ; i++) {
      const ofA = text.charCodeAt(a.from + i)
      const ofB = text.charCodeAt(b.from + i)
      if (ofA !== ofB) return ofA === QUOTE ? -1 : ofB === QUOTE ? 1 : this.#compareUnits(ofA, ofB)
      if (ofA === QUOTE) return 0
    }
  }

  #compareTexts(a: string, b: string): number {
    const length = Math.min(a.length, b.length)
    for (let i = 0; i < length; i++) {
      const [ofA, ofB] = [a.charCodeAt(i), b.charCodeAt(i)]
      if (ofA !== ofB) return this.#compareUnits(ofA, ofB)
    }
    return a.length - b.length
  }

  #compareUnits(a: number, b: number): number {
    if (a >= this.#firstUnordered && b >= this.#firstUnordered) throw NOT_PLAIN
    return a - b
  }
}

function canonicalMember(text: string, { nameCanonical, from, valueFrom, end, canonical }: Member): string {
  if (nameCanonical !== '') return `${nameCanonical}:${canonical === '' ? text.slice(valueFrom, end) : canonical}`
  return canonical === '' ? text.slice(from, end) : text.slice(from, valueFrom) + canonical
}

const nameOf = (text: string, { name, from, valueFrom }: Member): string =>
  name === '' ? text.slice(from + 1, valueFrom - 2) : name
