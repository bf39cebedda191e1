/** Compares the findings of the rules with what words.json still allows. The allowed numbers may only decrease. */
import type { Finding } from './rules.ts'

/** Allowed findings by key: the path of a file or folder, or an exported name. */
export type Allowed = Readonly<Record<string, number>>

export interface Comparison {
  /** Findings of the keys that have more findings than allowed. */
  readonly broken: readonly Finding[]
  /** Keys that allow more findings than exist. */
  readonly loose: readonly string[]
  /** The content that `--shrink` writes: no number increases, and none is zero. */
  readonly shrunk: Allowed
}

export function compare(found: ReadonlyMap<string, readonly Finding[]>, allowed: Allowed): Comparison {
  const countOf = (key: string) => found.get(key)?.length ?? 0
  const keys = Object.keys(allowed)
  return {
    broken: [...found].flatMap(([key, findings]) => (findings.length > (allowed[key] ?? 0) ? findings : [])),
    loose: keys.filter(key => countOf(key) < (allowed[key] ?? 0)),
    shrunk: Object.fromEntries(
      keys.flatMap(key => {
        const count = Math.min(countOf(key), allowed[key] ?? 0)
        return count > 0 ? [[key, count]] : []
      })
    )
  }
}

/**
 * Groups findings by the longest path in `allowed` that contains their file. A file outside all paths is its own
 * key.
 */
export function byPath(findings: readonly Finding[], allowed: Allowed): Map<string, Finding[]> {
  const longestFirst = Object.keys(allowed).sort((a, b) => b.length - a.length)
  const keyOf = (path: string) => longestFirst.find(key => path === key || path.startsWith(`${key}/`)) ?? path
  return groupBy(findings, each => keyOf(each.path))
}

/** Groups the exports of names that more than `most` files export. */
export function byName(exports: readonly Finding[], most: number): Map<string, Finding[]> {
  const oncePerFile = new Map(exports.map(each => [`${each.text} ${each.path}`, each]))
  const groups = groupBy(oncePerFile.values(), each => each.text)
  return new Map([...groups].filter(([, files]) => files.length > most))
}

function groupBy<T>(items: Iterable<T>, keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item)) ?? []
    group.push(item)
    groups.set(keyOf(item), group)
  }
  return groups
}
