/** Selects a diff's visible lines: changed lines and a few around them. Equal lines in between are folded. */
import type { DiffLine } from './text-diff.ts'

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
