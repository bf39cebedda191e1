/** Matches emphasis marks by the rules of CommonMark. */

export type Emphasis = 'em' | 'strong' | 'del'

/** A run of `*`, `_` or `~`, in a linked list of unmatched runs. */
export interface Mark {
  readonly sign: string
  /** Index among the pieces of the text. */
  readonly at: number
  readonly length: number
  /** Number of unmatched signs. */
  left: number
  readonly canOpen: boolean
  readonly canClose: boolean
  /** Emphasis that starts after this mark, outermost first. */
  readonly opens: Emphasis[]
  /** Emphasis that ends before this mark, innermost first. */
  readonly closes: Emphasis[]
  previous: Mark | undefined
  next: Mark | undefined
}

/** Matches the marks after `bottom`, up to `last`. These marks are never visited again. */
export function matchMarks(bottom: Mark | undefined, last: Mark | undefined): void {
  let mark = last
  while (mark !== undefined && mark.previous !== bottom) mark = mark.previous
  /** For each kind of closer, the position up to which no opener exists, so that no search is repeated. */
  const searched = new Map<string, number>()
  while (mark !== undefined) {
    if (!mark.canClose) {
      mark = mark.next
      continue
    }
    const kind = `${mark.sign}${mark.canOpen ? mark.length % 3 : '-'}${mark.sign === '~' ? mark.left : ''}`
    const opener = openerOf(mark, bottom, searched.get(kind) ?? -1)
    if (opener === undefined) {
      searched.set(kind, mark.previous?.at ?? -1)
      const next: Mark | undefined = mark.next
      if (!mark.canOpen) remove(mark)
      mark = next
      continue
    }
    const used = mark.sign === '~' ? mark.left : Math.min(2, opener.left, mark.left)
    const tag = mark.sign === '~' ? 'del' : used === 2 ? 'strong' : 'em'
    opener.left -= used
    mark.left -= used
    opener.opens.unshift(tag)
    mark.closes.push(tag)
    // The marks between opener and closer have no partner and are dropped.
    opener.next = mark
    mark.previous = opener
    if (opener.left === 0) remove(opener)
    if (mark.left === 0) {
      const next: Mark | undefined = mark.next
      remove(mark)
      mark = next
    }
  }
}

function openerOf(closer: Mark, bottom: Mark | undefined, searched: number): Mark | undefined {
  for (let mark = closer.previous; mark !== undefined && mark !== bottom && mark.at > searched; mark = mark.previous) {
    if (mark.sign !== closer.sign || !mark.canOpen) continue
    if (mark.sign === '~' ? mark.left === closer.left : !isOdd(mark, closer)) return mark
  }
  return undefined
}

/** Returns whether the lengths of two runs that could both open and close prevent a match, as in `*a**b*`. */
function isOdd(opener: Mark, closer: Mark): boolean {
  const isBoth = opener.canClose || closer.canOpen
  return isBoth && (opener.length + closer.length) % 3 === 0 && (opener.length % 3 !== 0 || closer.length % 3 !== 0)
}

function remove(mark: Mark): void {
  if (mark.previous !== undefined) mark.previous.next = mark.next
  if (mark.next !== undefined) mark.next.previous = mark.previous
}
