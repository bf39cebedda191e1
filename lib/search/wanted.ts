/** Parses search queries and finds their words and phrases in texts. */

import { isInstructing, roleOf } from './roles.ts'
import type { SearchedText } from './texts.ts'
import { denseTerms, fold, runsOf, termOf, type WordRun } from './words.ts'

/** A word of the query, or a run of characters in a script without spaces. */
interface Unit {
  readonly folded: string
  readonly isDense: boolean
}

/** Consecutive units: usually one, but several for a quoted phrase or for `order-17`. */
type Phrase = readonly Unit[]

export interface Wanted {
  /** Phrases that must all be found, in any order. */
  readonly phrases: readonly Phrase[]
  /** Terms that every text with these phrases contains. */
  readonly terms: readonly number[]
}

/**
 * Maximum number of terms to look up. The longest words' terms are used, because long words are usually the rarest.
 * Remaining terms are checked against the texts of the traces found.
 */
const MOST_TERMS = 6

/** Parses a query of words and quoted phrases. Returns undefined if the query contains neither letters nor digits. */
export function readWanted(query: string): Wanted | undefined {
  const pieces = Array.from(query.matchAll(/["“„]([^"“”„]*)["”“]?|[^\s"“”„]+/g), ([all, quoted]) => quoted ?? all)
  const named = pieces
    .map(unitsOf)
    .map((phrase): [string, Phrase] => [phrase.map(unit => unit.folded).join(' '), phrase])
  // Repeated words add no condition but cost as much as other words, so each word is kept only once.
  const phrases = [...new Map(named).values()].filter(({ length }) => length > 0)
  if (phrases.length === 0) return undefined
  const units = phrases.flat().sort((a, b) => b.folded.length - a.folded.length)
  const terms = units.flatMap(({ folded, isDense }) => (isDense ? denseTerms(folded) : [termOf(folded)]))
  return { phrases, terms: [...new Set(terms)].slice(0, MOST_TERMS) }
}

const unitsOf = (text: string): Unit[] =>
  runsOf(text).map(({ start, end, isDense }) => ({ folded: fold(text.slice(start, end)), isDense }))

/** The part of a text around its matches. `marks` holds each match's start and end within `text`, in order. */
export interface Excerpt {
  readonly place: SearchedText['place']
  /** Id of the span with the text; null for a text of the trace. */
  readonly spanId: string | null
  /** The role of the message with the text; null if the text is in no message. */
  readonly role: string | null
  readonly text: string
  readonly marks: readonly (readonly [number, number])[]
}

/** Maximum length of the excerpt before the first match (`before`) and in total (`all`), in UTF-16 code units. */
const EXCERPT = { before: 60, all: 240 }

interface FoundText extends SearchedText {
  readonly role: string | null
}

/**
 * Returns an excerpt of the first text that matches; the name is checked last. An instruction, such as a system prompt,
 * is shown only if no other text matches. Returns undefined if a phrase is missing.
 */
export function findIn(texts: readonly SearchedText[], { phrases }: Wanted): Excerpt | undefined {
  let missing = phrases
  let best: FoundText | undefined
  for (const text of [...texts.slice(1), ...texts.slice(0, 1)]) {
    const folded = new Folded(text.text)
    const isOpen = best === undefined || isInstructing(best.role)
    const found = new Set((isOpen ? phrases : missing).filter(phrase => folded.find(phrase).length > 0))
    if (found.size > 0 && isOpen) {
      const role = text.json === undefined ? null : roleOf(text.json, text.text)
      if (best === undefined || !isInstructing(role)) best = { ...text, role }
    }
    missing = missing.filter(phrase => !found.has(phrase))
    if (best !== undefined && missing.length === 0 && !isInstructing(best.role)) return excerptOf(best, phrases)
  }
  return best !== undefined && missing.length === 0 ? excerptOf(best, phrases) : undefined
}

/** Maximum number of excerpts per trace, and total length of the texts that are searched after the first excerpt. */
const EXCERPTS = { most: 3, further: 8000 }

/**
 * Returns the excerpt of `findIn`, followed by excerpts from other spans that contain some of the phrases. Only texts
 * after the first excerpt's text are searched for further excerpts, and instructions never are one. Returns no excerpts
 * if a phrase is missing.
 */
export function excerptsIn(texts: readonly SearchedText[], wanted: Wanted): readonly Excerpt[] {
  const first = findIn(texts, wanted)
  if (first === undefined) return []
  const { phrases } = wanted
  const excerpts = [first]
  const start = texts.findIndex(({ place, spanId = null }) => place === first.place && spanId === first.spanId)
  const spans = new Set([first.spanId])
  let left = EXCERPTS.further
  for (const text of first.place === 'name' ? [] : texts.slice(start + 1)) {
    const spanId = text.spanId ?? null
    if (spans.has(spanId)) continue
    if (excerpts.length === EXCERPTS.most || left <= 0) break
    left -= text.text.length
    if (!mayContain(text.text, phrases)) continue
    const folded = new Folded(text.text)
    if (!phrases.some(phrase => folded.find(phrase).length > 0)) continue
    const role = text.json === undefined ? null : roleOf(text.json, text.text)
    if (isInstructing(role)) continue
    spans.add(spanId)
    excerpts.push(excerptOf({ ...text, role }, phrases))
  }
  return excerpts
}

/** Returns whether a text has the characters of a phrase's first word, which is checked faster than its words. */
function mayContain(text: string, phrases: readonly Phrase[]): boolean {
  const folded = fold(text)
  return phrases.some(([first]) => folded.includes(first!.folded))
}

/** Matches characters that are invisible or change text direction. Each match is one code unit. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}]/gu

/** Returns the text as one line with hidden characters replaced. */
const asLine = (text: string): string =>
  text
    .replace(/\s+/g, ' ')
    .toWellFormed()
    .replace(HIDDEN, hidden => '\ufffd'.repeat(hidden.length))

type Mark = readonly [start: number, end: number]

/** A text's folded runs, indexed by word so that finding many words takes about as long as finding one. */
class Folded {
  readonly #text: string
  readonly #runs: readonly WordRun[]
  readonly #folded: readonly string[]
  /** Indexes of each word's runs, by word. */
  readonly #words = new Map<string, number[]>()
  readonly #dense: number[] = []

  constructor(text: string) {
    this.#text = text
    this.#runs = runsOf(text)
    this.#folded = this.#runs.map(({ start, end }) => fold(text.slice(start, end)))
    for (const [at, folded] of this.#folded.entries()) {
      const places = this.#runs[at]!.isDense ? this.#dense : this.#words.get(folded)
      if (places === undefined) this.#words.set(folded, [at])
      else places.push(at)
    }
  }

  /** Returns the ranges of the text that match the phrase. */
  find(phrase: Phrase): Mark[] {
    const { folded, isDense } = phrase[0]!
    const marks: Mark[] = []
    for (const at of isDense ? this.#dense : (this.#words.get(folded) ?? [])) {
      const mark = this.#findAt(phrase, at)
      if (mark !== undefined) marks.push(mark)
    }
    return marks
  }

  #findAt(phrase: Phrase, at: number): Mark | undefined {
    if (at + phrase.length > this.#runs.length) return undefined
    let start = 0
    for (const [i, unit] of phrase.entries()) {
      const isLast = i === phrase.length - 1
      const mark = this.#match(unit, at + i, i === 0, isLast)
      if (mark === undefined) return undefined
      if (i === 0) start = mark[0]
      if (isLast) return [start, mark[1]]
    }
    return undefined
  }

  /** Returns the range of a unit in a run. Within a phrase, a dense unit must be adjacent to its neighbours. */
  #match({ folded, isDense }: Unit, at: number, isFirst: boolean, isLast: boolean): Mark | undefined {
    const run = this.#runs[at]!
    const own = this.#folded[at]!
    if (run.isDense !== isDense) return undefined
    if (!isDense || (!isFirst && !isLast)) return own === folded ? [run.start, run.end] : undefined
    const from = isFirst && isLast ? own.indexOf(folded) : isLast ? 0 : own.length - folded.length
    if (from < 0 || !own.startsWith(folded, from)) return undefined
    return this.#unfold(run, from, from + folded.length)
  }

  /**
   * Maps a range of a run's folded units to the text. The result is approximate, because characters are folded one at a
   * time.
   */
  #unfold(run: WordRun, from: number, to: number): Mark {
    let folded = 0
    let start = run.start
    let at = run.start
    for (const character of this.#text.slice(run.start, run.end)) {
      if (folded <= from) start = at
      if (folded >= to) break
      folded += fold(character).length
      at += character.length
    }
    return [start, Math.max(at, start)]
  }
}

/** Builds an excerpt. Hidden characters are never part of a word, so replacing them does not change the matches. */
function excerptOf({ place, spanId, role, text: whole }: FoundText, phrases: readonly Phrase[]): Excerpt {
  const text = asLine(whole)
  const folded = new Folded(text)
  const sorted = phrases.flatMap(phrase => folded.find(phrase)).sort(([a], [b]) => a - b)
  const first = sorted[0]![0]
  const from = boundary(text, first <= EXCERPT.before ? 0 : wordAt(text, first - EXCERPT.before, first))
  const to = boundary(text, Math.min(text.length, from + EXCERPT.all))
  const kept: Mark[] = []
  for (const [start, end] of sorted) {
    const begin = Math.max(start, from, kept.at(-1)?.[1] ?? 0)
    if (begin < Math.min(end, to)) kept.push([begin, Math.min(end, to)])
  }
  const before = from > 0 ? '…' : ''
  const shift = before.length - from
  return {
    place,
    spanId: spanId ?? null,
    role,
    text: `${before}${text.slice(from, to)}${to < text.length ? '…' : ''}`,
    marks: kept.map(([start, end]) => [start + shift, end + shift])
  }
}

/** Returns the first word start between `from` and `to`, or `from` if there is none. */
function wordAt(text: string, from: number, to: number): number {
  const space = text.slice(from, to).search(/\s/)
  return space === -1 ? from : from + space + 1
}

/** Returns `at`, or the preceding position if `at` would split a surrogate pair. */
const boundary = (text: string, at: number): number => (/[\udc00-\udfff]/.test(text[at] ?? '') && at > 0 ? at - 1 : at)
