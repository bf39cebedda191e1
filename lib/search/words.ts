/**
 * Splits texts into words in any script. A word is a run of letters and digits, ignoring case and accents. In dense
 * scripts, each character and each pair of adjacent characters is indexed. Dense scripts are scripts written without
 * spaces (such as Chinese, Japanese and Thai), and Korean, because Korean particles attach to words.
 *
 * The index stores each word as a number, called its term. Two words may share a term, so every trace found is checked
 * against its texts.
 */

/** A run of a text: its range, and whether its script is dense. */
export interface WordRun {
  readonly start: number
  readonly end: number
  readonly isDense: boolean
}

const [UNKNOWN, BETWEEN, WORD, DENSE, MARK] = [0, 1, 2, 3, 4]
/** Class of each UTF-16 code unit, except surrogates, cached on first use. */
const classes = new Uint8Array(0x10000)

const IN_DENSE =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Bopo}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Yiii}]/u

function classOf(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  const known = classes[unit]!
  if (known !== UNKNOWN) return known
  const found = classify(String.fromCodePoint(text.codePointAt(at)!))!
  // A surrogate alone does not determine the character.
  if (unit < 0xd800 || unit > 0xdfff) classes[unit] = found
  return found
}

function classify(character: string) {
  // Accents and vowel signs belong to the preceding character.
  if (/\p{M}/u.test(character)) return MARK
  if (!/[\p{L}\p{N}]/u.test(character)) return BETWEEN
  return IN_DENSE.test(character) && !/\p{Nd}/u.test(character) ? DENSE : WORD
}

/** Whether a run of this kind continues at position `at`. */
function goesOn(kind: number | undefined, text: string, at: number): boolean {
  if (at >= text.length || kind === BETWEEN) return false
  const next = classOf(text, at)
  return next === kind || next === MARK
}

/** Returns the end of the run of this kind that begins at `start`. */
function endOfRun(kind: number | undefined, text: string, start: number): number {
  let at = start
  do at += text.codePointAt(at)! > 0xffff ? 2 : 1
  while (goesOn(kind, text, at))
  return at
}

export function runsOf(text: string): WordRun[] {
  const runs: WordRun[] = []
  for (let at = 0; at < text.length; ) {
    const kind = classOf(text, at)
    const start = at
    at = endOfRun(kind, text, at)
    if (kind === WORD || kind === DENSE) runs.push({ start, end: at, isDense: kind === DENSE })
  }
  return runs
}

const ONLY_ASCII = /^[\u0000-\u007f]*$/
const ACCENTS = /[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]/g

/**
 * Normalizes case and alternative Unicode forms, and removes accents. Keeps marks that are letters, as in Indic
 * scripts.
 */
export function fold(text: string): string {
  if (ONLY_ASCII.test(text)) return text.toLowerCase()
  const bare = text.normalize('NFKD').replace(ACCENTS, '')
  // Converts to upper case first, because upper-casing expands ß to two letters and unifies both lower-case sigmas.
  return bare.toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC')
}

/**
 * Maximum length of an indexed run, in UTF-16 code units. Longer runs, such as Base64 data, are not words that people
 * search for.
 */
const MOST_UNITS = 128

/**
 * Returns the terms to search for in order to find a dense run: its only character, or all pairs of adjacent
 * characters.
 */
export function denseTerms(folded: string): number[] {
  const points = [...folded]
  if (points.length === 1) return [termOf(folded)]
  return points.slice(1).map((point, i) => termOf(`${points[i]}${point}`))
}

const SEED = 0x811c9dc5 | 0
const PRIME = 0x01000193

/** Computes FNV-1a over UTF-16 code units as a signed 32-bit number. */
export function termOf(folded: string): number {
  let term = SEED
  for (let i = 0; i < folded.length; i++) term = Math.imul(term ^ folded.charCodeAt(i), PRIME)
  return term
}

/** Returns the terms of the texts, each once, in no particular order. */
export function termsOf(texts: readonly string[]): Int32Array {
  for (const text of texts) addTerms(text, found)
  return found.take()
}

/** A set of 32-bit numbers. The hash table is reused, because indexing builds many sets of hundreds of terms. */
class Terms {
  /** For each slot, the index in `#terms` of the slot's term, plus 1; or 0 if the slot is empty. */
  #slots = new Uint32Array(2048)
  #terms = new Int32Array(1024)
  #count = 0

  add(term: number): void {
    const last = this.#slots.length - 1
    let slot = (term ^ (term >>> 15)) & last
    for (let place = this.#slots[slot]!; place !== 0; place = this.#slots[slot]!) {
      if (this.#terms[place - 1] === term) return
      slot = (slot + 1) & last
    }
    if (this.#count === this.#terms.length) {
      this.#grow()
      this.add(term)
      return
    }
    this.#terms[this.#count++] = term
    this.#slots[slot] = this.#count
  }

  #grow(): void {
    const all = this.#terms
    this.#terms = new Int32Array(2 * all.length)
    this.#slots = new Uint32Array(4 * all.length)
    this.#count = 0
    for (const term of all) this.add(term)
  }

  /** Returns all terms and empties the set. */
  take(): Int32Array {
    const all = this.#terms.slice(0, this.#count)
    this.#slots.fill(0)
    this.#count = 0
    return all
  }
}

const found = new Terms()

/** The folded code of each ASCII letter or digit, and 0 for all other ASCII characters. */
const ASCII = Uint8Array.from({ length: 0x80 }, (_, unit) => {
  const character = String.fromCharCode(unit)
  return /[\p{L}\p{N}]/u.test(character) ? fold(character).charCodeAt(0) : 0
})

/**
 * Buffer for a text as UTF-16 bytes. Reading the string directly takes twice as long, because V8 checks the string's
 * representation for each code unit (test/bench/RESULTS.md, "Search by words").
 */
let units = Buffer.allocUnsafe(2 * 2048)

/** Adds the terms of a text. Most words are ASCII, so this loop computes their terms without calling `fold`. */
function addTerms(text: string, terms: Terms): void {
  const { length } = text
  if (units.length < 2 * length) units = Buffer.allocUnsafe(4 * length)
  units.write(text, 'utf16le')
  let start = 0
  let term = SEED
  for (let at = 0; at < length; at++) {
    const unit = units[2 * at]! | (units[2 * at + 1]! << 8)
    const folded = unit < ASCII.length ? ASCII[unit]! : 0
    if (folded !== 0) {
      term = Math.imul(term ^ folded, PRIME)
      continue
    }
    if (unit >= ASCII.length) at = addRun(text, start, terms) - 1
    else if (at > start && at - start <= MOST_UNITS) terms.add(term)
    start = at + 1
    term = SEED
  }
  if (length > start && length - start <= MOST_UNITS) terms.add(term)
}

/** Adds the terms of the run at `start`, and returns the run's end. */
function addRun(text: string, start: number, terms: Terms): number {
  const kind = classOf(text, start)
  const end = endOfRun(kind, text, start)
  if (kind === WORD && end - start <= MOST_UNITS) terms.add(termOf(fold(text.slice(start, end))))
  if (kind === DENSE) {
    const folded = fold(text.slice(start, end))
    for (const point of folded) terms.add(termOf(point))
    for (const pair of denseTerms(folded)) terms.add(pair)
  }
  return end
}
