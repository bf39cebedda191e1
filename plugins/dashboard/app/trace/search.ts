/** Searches the texts of a trace. Runs in a worker, which is terminated if an expression takes too long. */

export interface SearchedTexts {
  readonly id: string
  readonly input: unknown
  readonly output: unknown
  readonly attributes: unknown
  readonly events: unknown
}

/** A span's texts, joined for the search. */
export interface Searchable {
  readonly id: string
  readonly text: string
  readonly folded: string
}

export interface Hits {
  readonly id: string
  readonly count: number
}

/** Returns all strings, keys and numbers of a value, one per line. */
export function gatherTexts(value: unknown): string {
  const lines: string[] = []
  const waiting: unknown[] = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (next === null || next === undefined) continue
    if (Array.isArray(next)) for (let i = next.length - 1; i >= 0; i--) waiting.push(next[i])
    else if (typeof next === 'object') {
      const entries = Object.entries(next)
      for (let i = entries.length - 1; i >= 0; i--) {
        const [key, member] = entries[i]!
        if (typeof member === 'object' && member !== null) waiting.push(member, key)
        else waiting.push(`${key}: ${String(member)}`)
      }
    } else lines.push(String(next))
  }
  return lines.join('\n')
}

export function makeSearchable(name: string, { id, input, output, attributes, events }: SearchedTexts): Searchable {
  const text = [name, ...[input, output, attributes, events].map(gatherTexts)].join('\n')
  return { id, text, folded: text.toLowerCase() }
}

export type Pattern = { readonly plain: string } | { readonly expression: RegExp }

/**
 * Reads `/…/` as a regular expression and other text as a case-insensitive literal. Returns undefined for an invalid
 * expression.
 */
export function readPattern(text: string): Pattern | undefined {
  const [, source, flags] = /^\/(.+)\/([ims]*)$/s.exec(text) ?? []
  if (source === undefined) return { plain: text.toLowerCase() }
  try {
    return { expression: new RegExp(source, `g${flags ?? ''}`) }
  } catch {
    return undefined
  }
}

/** Yields the start and end of each match. `folded` is the text in lower case. */
function* matchesOf(text: string, folded: string, pattern: Pattern): Generator<[start: number, end: number]> {
  if ('plain' in pattern) {
    const { plain } = pattern
    if (plain === '') return
    for (let at = folded.indexOf(plain); at !== -1; at = folded.indexOf(plain, at + plain.length)) {
      yield [at, at + plain.length]
    }
    return
  }
  for (const { 0: match, index } of text.matchAll(pattern.expression)) {
    if (match !== '') yield [index, index + match.length]
  }
}

const MOST_HITS = 10_000

export function countHits({ text, folded }: Searchable, pattern: Pattern): number {
  let count = 0
  for (const _ of matchesOf(text, folded, pattern)) if (++count >= MOST_HITS) break
  return count
}

/** Returns the start and end of each of the first `most` matches. */
export function findMarks(text: string, pattern: Pattern, most: number): [start: number, end: number][] {
  const folded = 'plain' in pattern ? text.toLowerCase() : text
  // In a few scripts the lower-case string is longer, so positions would not match.
  if (folded.length !== text.length) return []
  const marks: [number, number][] = []
  for (const match of matchesOf(text, folded, pattern)) if (marks.push(match) >= most) break
  return marks
}
