/**
 * Positions in the order of changes, and the cursors that encode them. The order begins with the traces that were
 * stored when a sync began, by internal number, and continues with the project's log.
 */

/** A position among the stored traces, before the log. */
export interface WalkPosition {
  readonly in: 'traces'
  /** Id of the project's log. */
  readonly feed: string
  /** Traces up to this internal number were read. */
  readonly after: number
  /** Highest internal number when the sync began. */
  readonly to: number
  /** Last place of the log when the sync began. The sync continues after this place. */
  readonly place: number
}

/** A position in the log. */
export interface LogPosition {
  readonly in: 'log'
  readonly feed: string
  /** Every place before this one was read. */
  readonly place: number
  /** Number of traces that were read at this place. */
  readonly read: number
}

export type Position = WalkPosition | LogPosition

const VERSION = '1'
const ORDER = 'changes'

export function encodePosition(position: Position): string {
  const { feed, place } = position
  const numbers = position.in === 'traces' ? [position.after, position.to] : [position.read]
  return Buffer.from([VERSION, ORDER, position.in, feed, place, ...numbers].join(' '), 'latin1').toString('base64url')
}

/** Returns the position that a cursor encodes; undefined unless `encodePosition` created the cursor. */
export function decodePosition(cursor: string): Position | undefined {
  const [, , kind, feed = '', ...texts] = Buffer.from(cursor, 'base64url').toString('latin1').split(' ')
  const [place = -1, first = -1, second = -1] = texts.map(numberOf)
  const position: Position =
    kind === 'traces'
      ? { in: 'traces', feed, after: first, to: second, place }
      : { in: 'log', feed, place, read: first }
  const numbers = kind === 'traces' ? [place, first, second] : [place, first]
  const isValid = numberOf(feed) >= 0 && numbers.every(number => number >= 0)
  // The decoder ignores characters outside base64url, so only the spelling that encodePosition produces is accepted.
  return isValid && encodePosition(position) === cursor ? position : undefined
}

/** Returns the number, or -1 if the text is not a whole number in its shortest notation. */
function numberOf(text: string): number {
  const number = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : -1
  return Number.isSafeInteger(number) ? number : -1
}
