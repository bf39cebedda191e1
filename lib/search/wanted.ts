/** Reads a search query, and finds its words and phrases in texts. */

import type { SearchedText } from './texts.ts'
import { denseTerms, fold, runsOf, termOf, type WordRun } from './words.ts'

/** A word of the query, or some characters of a script without spaces. */
interface Unit {
  readonly folded: string
  readonly isDense: boolean
}

/** Units that must follow each other: mostly a single one; several for a phrase, or for `order-17`. */
type Phrase = readonly Unit[]

export interface Wanted {
  /** All of them must be found, in any order. */
  readonly phrases: readonly Phrase[]
  /** Every text that has the phrases has these terms. */
  readonly terms: readonly number[]
}

/**
 * The most terms that are looked up. They are those of the longest words, which are mostly the rarest. The traces that
 * have them are read to check the others.
 */
const MOST_TERMS = 6

/** Reads a query: words, and phrases in quotes. Undefined if there is neither a letter nor a digit in it. */
export function readWanted(query: string): Wanted | undefined {
  const pieces = Array.from(query.matchAll(/["“„]([^"“”„]*)["”“]?|[^\s"“”„]+/g), ([all, quoted]) => quoted ?? all)
  const named = pieces
    .map(unitsOf)
    .map((phrase): [string, Phrase] => [phrase.map(unit => unit.folded).join(' '), phrase])
  // Repeated words add nothing, and cost as much as others, so each is kept once.
  const phrases = [...new Map(named).values()].filter(({ length }) => length > 0)
  if (phrases.length === 0) return undefined
  const units = phrases.flat().sort((a, b) => b.folded.length - a.folded.length)
  const terms = units.flatMap(({ folded, isDense }) => (isDense ? denseTerms(folded) : [termOf(folded)]))
  return { phrases, terms: [...new Set(terms)].slice(0, MOST_TERMS) }
}

const unitsOf = (text: string): Unit[] =>
  runsOf(text).map(({ start, end, isDense }) => ({ folded: fold(text.slice(start, end)), isDense }))

/** A piece of a text around the matches. `marks` are the begin and end of each match in it, in their order. */
export interface Excerpt {
  readonly place: SearchedText['place']
  readonly text: string
  readonly marks: readonly (readonly [number, number])[]
}

/** In UTF-16 units: the most before the first match, and in all. */
const EXCERPT = { before: 60, all: 240 }

/** An excerpt of the first text that has something wanted, the name last. Undefined if not all is in the texts. */
export function findIn(texts: readonly SearchedText[], { phrases }: Wanted): Excerpt | undefined {
  let missing = phrases
  let best: SearchedText | undefined
  for (const text of [...texts.slice(1), ...texts.slice(0, 1)]) {
    const folded = new Folded(text.text)
    const wanted = best === undefined ? phrases : missing
    const found = new Set(wanted.filter(phrase => folded.find(phrase).length > 0))
    if (found.size > 0) best ??= text
    missing = missing.filter(phrase => !found.has(phrase))
    if (best !== undefined && missing.length === 0) return excerptOf(best, phrases)
  }
  return undefined
}

/** Characters that are invisible, or change the direction of a line; each is one unit. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}]/gu

/** The text in one line, in which nothing is hidden. */
const asLine = (text: string): string =>
  text
    .replace(/\s+/g, ' ')
    .toWellFormed()
    .replace(HIDDEN, hidden => '\ufffd'.repeat(hidden.length))

type Mark = readonly [start: number, end: number]

/** The runs of a text, folded, and where each word is, so that many words are found in about the time of one. */
class Folded {
  readonly #text: string
  readonly #runs: readonly WordRun[]
  readonly #folded: readonly string[]
  /** The places of a word's runs. */
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

  /** The places of the phrase in the text. */
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

  /** The place of a unit in a run. Within a phrase, a unit of a dense script must touch its neighbours. */
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
   * The piece of the run of which these folded units were made, as near as can be told: characters are folded one by
   * one.
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

/** Hidden characters are never part of a word, so the search finds the same in the line. */
function excerptOf({ place, text: whole }: SearchedText, phrases: readonly Phrase[]): Excerpt {
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
    text: `${before}${text.slice(from, to)}${to < text.length ? '…' : ''}`,
    marks: kept.map(([start, end]) => [start + shift, end + shift])
  }
}

/** The first beginning of a word from `from` on, if there is one before `to`. */
function wordAt(text: string, from: number, to: number): number {
  const space = text.slice(from, to).search(/\s/)
  return space === -1 ? from : from + space + 1
}

/** The same position, or the one before it if a surrogate pair would be cut. */
const boundary = (text: string, at: number): number => (/[\udc00-\udfff]/.test(text[at] ?? '') && at > 0 ? at - 1 : at)
