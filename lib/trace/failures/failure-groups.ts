/**
 * Groups failures by the name and kind of their step, the type of their error and the pattern of their message
 * (message-pattern.ts). Groups are exact as long as few words vary. If many groups of one step and type differ in a
 * single word, such as a name without quotes, that word is treated as a value, and the groups become one.
 */
import { patternOf } from './message-pattern.ts'
import type { StepFailure } from './step-failure.ts'

/** A failed step, or a trace that failed without a failed step. */
export interface Failure extends StepFailure {
  /** The kind of the step; `trace` for a trace without a failed step. */
  readonly kind: string
  /** The name of the step, or of the trace. */
  readonly name: string
  /** The model of the step, or null. */
  readonly model: string | null
  readonly traceId: string
  /** Null for a trace without a failed step. */
  readonly spanId: string | null
  /** Canonical start time of the step or trace. */
  readonly at: string
  /** Whether a child of the step failed as well, so that the step probably passed that failure on. */
  readonly isPassedOn: boolean
}

export interface GroupedFailures {
  readonly kind: string
  readonly name: string
  readonly type: string | null
  /** Pattern of the messages; null if the group's failures state no message. */
  readonly pattern: string | null
  readonly count: number
  /** Number of failures whose step has a child that failed. */
  readonly passedOn: number
  /** Ids of the traces. */
  readonly traces: ReadonlySet<string>
  /** Number of failures by the time step passed to `add`, without trailing zeros. */
  readonly steps: readonly number[]
  /** Number of failures before the first step. No other number counts these. */
  readonly before: number
  /** Starts of the first and the last failure, including those before the first step. */
  readonly first: string
  readonly last: string
  /** The last failure. */
  readonly example: Failure
}

/** The failures of a step in all groups. */
export type FailingStep = Pick<GroupedFailures, 'kind' | 'name' | 'count' | 'passedOn' | 'traces'>

type Growing = { -readonly [name in keyof GroupedFailures]: GroupedFailures[name] } & {
  readonly traces: Set<string>
  readonly steps: number[]
}

/** Number of different words at one position by which groups become one. */
const MOST_VALUES = 8
/** Lengths, in words, of patterns in which a word may vary. In shorter patterns, every word is part of the fault. */
const WORDS = { least: 4, most: 60 }
/** Stands for a word that varies. */
const ANY = '<…>'
/** Maximum number of remembered patterns of messages. */
const MOST_REMEMBERED = 10_000

/** Sorts groups or steps: those with the most failures that were not passed on first, then by number. */
const byFailures = (a: FailingStep, b: FailingStep): number =>
  b.count - b.passedOn - (a.count - a.passedOn) || b.count - a.count

/** Adds up failures. */
export class FailureGroups {
  readonly #groups = new Map<string, Growing>()
  readonly #patterns = new Map<string, string>()

  /**
   * `step` is the number, from 0, of the time step to which the failure belongs; negative if it is earlier. A
   * failure with the step −∞ is not counted.
   */
  add(failure: Failure, step = 0): void {
    const { kind, name, type, message, traceId, at, isPassedOn } = failure
    const pattern = message === null ? null : this.#patternOf(message)
    const isEarlier = step < 0
    const group = {
      ...{ kind, name, type, pattern, first: at, last: at, example: failure },
      count: isEarlier ? 0 : 1,
      passedOn: isPassedOn && !isEarlier ? 1 : 0,
      traces: new Set(isEarlier ? [] : [traceId]),
      steps: isEarlier ? [] : [...Array<number>(step).fill(0), 1],
      before: isEarlier && step > Number.NEGATIVE_INFINITY ? 1 : 0
    }
    const key = keyOf(group)
    const known = this.#groups.get(key)
    if (known === undefined) this.#groups.set(key, group)
    else addTo(known, group)
  }

  /** Returns the groups, sorted by failures and then by the last start. */
  list(): readonly GroupedFailures[] {
    return mergeAlike([...this.#groups.values()]).sort(
      (a, b) => byFailures(a, b) || compareTimes(b.last, a.last) || compare(keyOf(a), keyOf(b))
    )
  }

  /** Returns the steps, those with the most failures that were not passed on first. */
  steps(): readonly FailingStep[] {
    const steps = new Map<string, FailingStep & { count: number; passedOn: number; traces: Set<string> }>()
    for (const { kind, name, count, passedOn, traces } of this.#groups.values()) {
      const key = JSON.stringify([kind, name])
      const step = steps.get(key) ?? { kind, name, count: 0, passedOn: 0, traces: new Set<string>() }
      step.count += count
      step.passedOn += passedOn
      for (const id of traces) step.traces.add(id)
      steps.set(key, step)
    }
    return [...steps].sort(([a, one], [b, other]) => byFailures(one, other) || compare(a, b)).map(([, step]) => step)
  }

  #patternOf(message: string): string {
    const known = this.#patterns.get(message)
    if (known !== undefined) return known
    const pattern = patternOf(message)
    if (this.#patterns.size < MOST_REMEMBERED) this.#patterns.set(message, pattern)
    return pattern
  }
}

const keyOf = ({ kind, name, type, pattern }: GroupedFailures): string => JSON.stringify([kind, name, type, pattern])
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Compares canonical times, which have three or six fraction digits. */
function compareTimes(a: string, b: string): number {
  const digits = (time: string) => time.slice(0, -1).padEnd(26, '0')
  return a.length === b.length ? compare(a, b) : compare(digits(a), digits(b))
}

function addTo(group: Growing, other: GroupedFailures): void {
  group.count += other.count
  group.passedOn += other.passedOn
  for (const id of other.traces) group.traces.add(id)
  group.before += other.before
  while (group.steps.length < other.steps.length) group.steps.push(0)
  for (const [step, count] of other.steps.entries()) group.steps[step]! += count
  if (compareTimes(other.first, group.first) < 0) group.first = other.first
  if (compareTimes(other.last, group.last) <= 0) return
  group.last = other.last
  group.example = other.example
}

/** Merges groups of a step and type that differ in one word only, if at least MOST_VALUES of them do. */
function mergeAlike(groups: readonly GroupedFailures[]): GroupedFailures[] {
  const steps = groupBy(groups, ({ kind, name, type }) => JSON.stringify([kind, name, type]))
  return [...steps.values()].flatMap(own => {
    let merged = own
    // A second word may vary among the groups that a pass has merged.
    for (let before = 0; before !== merged.length && merged.length >= MOST_VALUES; ) {
      before = merged.length
      merged = mergeByOneWord(merged)
    }
    return merged
  })
}

function mergeByOneWord(groups: readonly GroupedFailures[]): GroupedFailures[] {
  const templates = new Map<string, GroupedFailures[]>()
  for (const group of groups) {
    for (const template of templatesOf(group)) {
      const own = templates.get(template)
      if (own === undefined) templates.set(template, [group])
      else own.push(group)
    }
  }
  const large = [...templates]
    .filter(([, own]) => own.length >= MOST_VALUES)
    .sort(([a, { length }], [b, other]) => other.length - length || compare(a, b))
  const taken = new Set<GroupedFailures>()
  const merged: GroupedFailures[] = []
  for (const [pattern, own] of large) {
    const [first, ...others] = own.filter(group => !taken.has(group))
    if (first === undefined || others.length + 1 < MOST_VALUES) continue
    const whole = { ...first, pattern, traces: new Set(first.traces), steps: [...first.steps] }
    for (const other of others) addTo(whole, other)
    for (const each of [first, ...others]) taken.add(each)
    merged.push(whole)
  }
  return [...merged, ...groups.filter(group => !taken.has(group))]
}

/**
 * Returns the group's pattern with each of its words replaced in turn. Codes and names of code are parts of a fault and
 * are not replaced: words with digits, in quotes or in capitals.
 */
function templatesOf({ pattern }: GroupedFailures): string[] {
  const words = pattern?.split(' ') ?? []
  if (words.length < WORDS.least || words.length > WORDS.most) return []
  return words.flatMap((word, i) =>
    /[\p{N}'"<]|^[\p{Lu}_]{2,}$/u.test(word) ? [] : [[...words.slice(0, i), ANY, ...words.slice(i + 1)].join(' ')]
  )
}

function groupBy<T>(items: readonly T[], of: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = of(item)
    const own = groups.get(key)
    if (own === undefined) groups.set(key, [item])
    else own.push(item)
  }
  return groups
}
