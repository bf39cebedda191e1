/** Adds up the pages of a list of failures, and decides what each group says and where it leads. */
import type { FailurePage, GroupOfFailures } from '../contract.ts'

/** Failures of all pages loaded so far. */
export type LoadedFailures = FailurePage

const keyOf = ({ kind, name, type, pattern }: GroupOfFailures): string => JSON.stringify([kind, name, type, pattern])

/** Returns the list with a further page, whose failures are earlier than the list's. */
export function withFailures(known: LoadedFailures | undefined, page: FailurePage): LoadedFailures {
  if (known === undefined) return page
  const groups = new Map(known.groups.map(group => [keyOf(group), group]))
  for (const group of page.groups) {
    const own = groups.get(keyOf(group))
    groups.set(keyOf(group), own === undefined ? group : sumOf(own, group))
  }
  const sorted = [...groups.values()].sort((a, b) => rankOf(b) - rankOf(a) || b.count - a.count)
  return { ...page, groups: sorted, others: known.others + page.others }
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

/** Whether the failure did not occur in the preceding period. */
export const isNew = (group: GroupOfFailures, list: LoadedFailures): boolean => isExamined(list) && group.before === 0

/** Maximum number of characters and of words by which a list finds failures. The API accepts 200 characters. */
const MOST_CHARACTERS = 190
const MOST_WORDS = 12

/** Returns words by which the list finds the group's failures. Placeholders in the pattern stand for other words. */
export function wordsOf({ type, pattern }: Pick<GroupOfFailures, 'type' | 'pattern'>): string {
  const words = (pattern ?? '').split(/\s+/).filter(word => /[\p{L}\p{N}]/u.test(word) && !/[<>…"“”„]/.test(word))
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
