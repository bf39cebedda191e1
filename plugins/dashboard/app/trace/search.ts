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

const MOST_HITS = 10_000

export function countHits({ text, folded }: Searchable, pattern: Pattern): number {
  let count = 0
  if ('plain' in pattern) {
    const { plain } = pattern
    if (plain === '') return 0
    for (let at = folded.indexOf(plain); at !== -1 && count < MOST_HITS; at = folded.indexOf(plain, at + plain.length))
      count++
    return count
  }
  for (const [match] of text.matchAll(pattern.expression)) {
    if (match !== '') count++
    if (count >= MOST_HITS) break
  }
  return count
}

/** Returns the start and end of each of the first `most` matches. */
export function findMarks(text: string, pattern: Pattern, most = 1000): [start: number, end: number][] {
  const marks: [number, number][] = []
  if ('plain' in pattern) {
    const { plain } = pattern
    const folded = text.toLowerCase()
    // In a few scripts the lower-case string is longer, so positions would not match.
    if (plain === '' || folded.length !== text.length) return []
    for (
      let at = folded.indexOf(plain);
      at !== -1 && marks.length < most;
      at = folded.indexOf(plain, at + plain.length)
    ) {
      marks.push([at, at + plain.length])
    }
    return marks
  }
  for (const match of text.matchAll(pattern.expression)) {
    if (match[0] !== '') marks.push([match.index, match.index + match[0].length])
    if (marks.length >= most) break
  }
  return marks
}
