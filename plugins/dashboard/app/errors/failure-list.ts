/** Combines the pages of a list of failures, and determines each group's text and link. */
import type { FailurePage, GroupOfFailures } from '../contract.ts'

/** Failures of all pages loaded so far. */
export type LoadedFailures = FailurePage

export const keyOfFailure = ({ kind, name, type, pattern }: FailurePage['earlier'][number] | GroupOfFailures): string =>
  JSON.stringify([kind, name, type, pattern])

/** Returns the list with a further page, whose failures are earlier than the list's. */
export function withFailures(known: LoadedFailures | undefined, page: FailurePage): LoadedFailures {
  if (known === undefined) return page
  const groups = new Map(known.groups.map(group => [keyOfFailure(group), group]))
  for (const group of page.groups) {
    const own = groups.get(keyOfFailure(group))
    groups.set(keyOfFailure(group), own === undefined ? group : sumOf(own, group))
  }
  for (const { before, firstAt, ...earlier } of page.earlier) {
    const own = groups.get(keyOfFailure({ ...earlier, before, firstAt }))
    if (own !== undefined) groups.set(keyOfFailure(own), { ...own, before: own.before + before, firstAt })
  }
  const sorted = [...groups.values()].sort((a, b) => rankOf(b) - rankOf(a) || b.count - a.count)
  const others = known.others + page.others
  return { ...page, groups: sorted, others, otherFailures: known.otherFailures + page.otherFailures }
}

/** A list in numbers. A failure that a step passed on from its child counts as the child's. */
export interface FailureCounts {
  readonly failures: number
  /** Groups with at least one such failure. */
  readonly groups: number
  /** Listed groups that consist of failures passed on. */
  readonly passedOn: number
}

export function countFailures({ groups, others, otherFailures }: LoadedFailures): FailureCounts {
  const own = groups.filter(group => rankOf(group) > 0)
  return {
    failures: own.reduce((sum, group) => sum + rankOf(group), otherFailures),
    groups: own.length + others,
    passedOn: groups.length - own.length
  }
}

/** Failures that a step passed on from a failed child come last. */
const rankOf = ({ count, passedOn }: GroupOfFailures): number => count - passedOn

function sumOf(later: GroupOfFailures, earlier: GroupOfFailures): GroupOfFailures {
  const length = Math.max(later.steps.length, earlier.steps.length)
  return {
    ...later,
    count: later.count + earlier.count,
    passedOn: later.passedOn + earlier.passedOn,
    // A trace is on one page only.
    traces: later.traces + earlier.traces,
    steps: Array.from({ length }, (_, i) => (later.steps[i] ?? 0) + (earlier.steps[i] ?? 0)),
    before: later.before + earlier.before,
    firstAt: earlier.firstAt
  }
}

/** Whether both periods were examined to the end. Otherwise, a failure that looks new may be old. */
export const isExamined = ({ nextCursor }: LoadedFailures): boolean => nextCursor === null

/** First failures, by group, among the traces before both periods. */
export interface FailureHistory {
  readonly firsts: ReadonlyMap<string, string>
  /** Start of the last trace examined; null if all were. */
  readonly reached: string | null
  readonly nextCursor: string | null
}

/** Returns the history with a further page, whose failures are earlier. */
export function withEarlier(known: FailureHistory | undefined, page: FailurePage): FailureHistory {
  const firsts = new Map(known?.firsts)
  for (const group of page.earlier) firsts.set(keyOfFailure(group), group.firstAt)
  return { firsts, reached: page.reached, nextCursor: page.nextCursor }
}

/** Returns the start of the group's first failure among all traces examined. */
export const firstSeen = (group: GroupOfFailures, history: FailureHistory | undefined): string =>
  history?.firsts.get(keyOfFailure(group)) ?? group.firstAt

/** Whether the failure did not occur before the period, in any trace examined. */
export const isNew = (group: GroupOfFailures, list: LoadedFailures, history: FailureHistory | undefined): boolean =>
  isExamined(list) && group.before === 0 && history !== undefined && !history.firsts.has(keyOfFailure(group))

/** Orders of the list, with the titles of their columns. */
export const FAILURE_SORTS = { count: 'Failures', first: 'First seen', last: 'Last seen' } as const
export type FailureSort = keyof typeof FAILURE_SORTS

export const readFailureSort = (text: string | undefined): FailureSort =>
  text === 'first' || text === 'last' ? text : 'count'

/** Returns the groups in an order: by their number of failures, or the most recent first. */
export function sortedFailures(
  { groups }: LoadedFailures,
  sort: FailureSort,
  history: FailureHistory | undefined
): readonly GroupOfFailures[] {
  if (sort === 'count') return groups
  const timeOf = (group: GroupOfFailures) => Date.parse(sort === 'first' ? firstSeen(group, history) : group.lastAt)
  return groups.toSorted((a, b) => timeOf(b) - timeOf(a))
}

/**
 * Maximum numbers of characters and words that the list uses to find a group's failures. The API accepts 200
 * characters.
 */
const MOST_CHARACTERS = 190
const MOST_WORDS = 12
const COUNTED_NOUN = /<number> (?:validation )?\p{L}+/gu

/**
 * Returns the words that the list uses to find the group's failures. Placeholders in the pattern stand for other words,
 * and a noun after a number may be plural in the message (lib/trace/failures/message-pattern.ts).
 */
export function wordsOf({ type, pattern }: Pick<GroupOfFailures, 'type' | 'pattern'>): string {
  const words = (pattern ?? '')
    .replace(COUNTED_NOUN, '')
    .split(/\s+/)
    .filter(word => /[\p{L}\p{N}]/u.test(word) && !/[<>…"“”„]/.test(word))
  let found = type ?? ''
  for (const word of [...new Set(words)].slice(0, MOST_WORDS)) {
    const longer = found === '' ? word : `${found} ${word}`
    if (longer.length > MOST_CHARACTERS) break
    found = longer
  }
  return found
}

/** Returns the query string of the list of traces with the group's failures. `time` is the period. */
export function tracesQueryOf(
  group: GroupOfFailures,
  time: { readonly from: string; readonly to: string },
  env: string | undefined
): string {
  const { kind, name } = group
  const words = wordsOf(group)
  const step = { step: name, kind, stepStatus: 'error', ...(words !== '' && { error: words }) }
  return `?${new URLSearchParams({
    ...(kind === 'trace' ? { name, status: 'error' } : step),
    ...(env !== undefined && { env }),
    ...time
  })}`
}
