/** Compares two texts line by line, and changed lines word by word. Equal lines far from a change are folded. */

import { commonRuns, type Run } from './sequence.ts'

export interface DiffPiece {
  readonly text: string
  readonly changed: boolean
}

/** `gone` lines occur only in the first text, `new` lines only in the second. */
export type DiffLine =
  | { readonly kind: 'same'; readonly text: string }
  | { readonly kind: 'gone' | 'new'; readonly pieces: readonly DiffPiece[] }

/** Minimum share of common characters for two lines to count as one changed line. */
const ALIKE = 0.4
/** Step budget for the word comparisons of one pair of lines, counted as in sequence.ts. */
const WORD_STEPS = 400_000

/** Merges the lines of both texts. If one text is missing, all lines come from the other text. */
export function diffTexts(before: string | undefined, after: string | undefined): DiffLine[] {
  const [a, b] = [before?.split('\n') ?? [], after?.split('\n') ?? []]
  const [left, right] = numbered(a, b)
  const lines: DiffLine[] = []
  let [x, y] = [0, 0]
  for (const run of [...commonRuns(left, right), { a: a.length, b: b.length, length: 0 }]) {
    addChange(lines, a.slice(x, run.a), b.slice(y, run.b))
    for (let i = 0; i < run.length; i++) lines.push({ kind: 'same', text: a[run.a + i]! })
    ;[x, y] = [run.a + run.length, run.b + run.length]
  }
  return lines
}

/** Adds removed lines and their replacements, paired in order. */
function addChange(lines: DiffLine[], gone: readonly string[], come: readonly string[]): void {
  const pairs = gone.slice(0, come.length).map((line, i) => diffWords(line, come[i]!))
  for (const [i, text] of gone.entries()) lines.push({ kind: 'gone', pieces: pairs[i]?.before ?? whole(text) })
  for (const [i, text] of come.entries()) lines.push({ kind: 'new', pieces: pairs[i]?.after ?? whole(text) })
}

const whole = (text: string): DiffPiece[] => [{ text, changed: false }]

interface Pair {
  readonly before: readonly DiffPiece[]
  readonly after: readonly DiffPiece[]
}

/** Matches words, runs of whitespace, and any other single character. */
const TOKENS = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu

function diffWords(before: string, after: string): Pair {
  const [a, b] = [before.match(TOKENS) ?? [], after.match(TOKENS) ?? []]
  const [left, right] = numbered(a, b)
  const runs = commonRuns(left, right, WORD_STEPS)
  const same = runs.reduce((sum, run) => sum + lengthOf(a, run.a, run.a + run.length), 0)
  if (same < ALIKE * Math.max(before.length, after.length)) {
    return { before: whole(before), after: whole(after) }
  }
  return { before: pieces(a, runs, 'a'), after: pieces(b, runs, 'b') }
}

function lengthOf(tokens: readonly string[], from: number, to: number): number {
  let length = 0
  for (let i = from; i < to; i++) length += tokens[i]!.trim().length
  return length
}

function pieces(tokens: readonly string[], runs: readonly Run[], side: 'a' | 'b'): DiffPiece[] {
  const found: DiffPiece[] = []
  let at = 0
  for (const { [side]: from, length } of [...runs, { a: tokens.length, b: tokens.length, length: 0 }]) {
    if (from > at) found.push({ text: tokens.slice(at, from).join(''), changed: true })
    if (length > 0) found.push({ text: tokens.slice(from, from + length).join(''), changed: false })
    at = from + length
  }
  return found
}

/** Maps equal strings to equal numbers. */
function numbered(a: readonly string[], b: readonly string[]): [Int32Array, Int32Array] {
  const numbers = new Map<string, number>()
  const number = (text: string) => {
    const known = numbers.get(text)
    if (known !== undefined) return known
    numbers.set(text, numbers.size)
    return numbers.size - 1
  }
  return [Int32Array.from(a, number), Int32Array.from(b, number)]
}

/** Lines `from` to `to` (exclusive), shown or folded. Two shown stretches are never adjacent. */
export interface Stretch {
  readonly from: number
  readonly to: number
  readonly folded: boolean
}

const AROUND = 3
/** Minimum number of lines in a fold. */
const LEAST_FOLDED = 4

/** Splits lines into shown and folded stretches. `opened` contains the first line of each opened fold. */
export function stretches(lines: readonly DiffLine[], opened: ReadonlySet<number>): Stretch[] {
  const found: Stretch[] = []
  const add = (from: number, to: number, folded: boolean) => {
    if (from === to) return
    const last = found.at(-1)
    if (last !== undefined && !last.folded && !folded) found[found.length - 1] = { ...last, to }
    else found.push({ from, to, folded })
  }
  for (let at = 0; at < lines.length; ) {
    const isSame = lines[at]!.kind === 'same'
    let end = at + 1
    while (end < lines.length && (lines[end]!.kind === 'same') === isSame) end++
    const from = at === 0 ? at : at + AROUND
    const to = end === lines.length ? end : end - AROUND
    if (!isSame || to - from < LEAST_FOLDED || opened.has(from)) add(at, end, false)
    else {
      add(at, from, false)
      add(from, to, true)
      add(to, end, false)
    }
    at = end
  }
  return found
}

export function countChanges(lines: readonly DiffLine[]): { readonly gone: number; readonly come: number } {
  let [gone, come] = [0, 0]
  for (const { kind } of lines) {
    if (kind === 'gone') gone++
    else if (kind === 'new') come++
  }
  return { gone, come }
}
