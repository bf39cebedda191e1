import type { Static } from 'typebox'
import { FIELD_VALUES } from '../../../lib/schema/field-values.ts'
import type { FailureGroup, FailureList, StepFailures } from '../../../lib/schema/history/span-list.ts'
import { isBefore } from '../../../lib/trace/timestamp.ts'
import { type Asker, type QueryMembers, requestPath } from '../../asking/asker.ts'
import { jsonLine, LIMIT_FLAG, OUTPUT_FLAGS, parseLimit, refuseBoth } from '../../asking/output.ts'
import { ASKING_FLAGS, withAsker } from '../../asking/place.ts'
import { command } from '../../command.ts'
import { type FittedColumn, fitTable } from '../../terminal/fitted-table.ts'
import type { Line } from '../../terminal/lines.ts'
import { count, counted, longClock, shortClock } from '../../terminal/words.ts'
import { oneOf, parseText } from '../traces/conditions.ts'
import { PERIOD_FLAGS, periodQuery, TRACE_FILTER_FLAGS, traceFilters } from './period.ts'
import { errorText } from './span.ts'

type Group = Static<typeof FailureGroup>
type Answer = Static<typeof FailureList>
type Step = Static<typeof StepFailures>

const USUAL = 20
const MOST = 200
/** Maximum number of requests. Each examines thousands of traces. */
const MOST_REQUESTS = 20
/** Maximum number of steps in the table above the groups, which counts failures per step. */
const MOST_STEPS = 10

const STEP_COLUMNS: readonly FittedColumn<Step>[] = [
  { title: 'FAILURES', of: step => count(step.count), isNumber: true },
  { title: 'TRACES', of: ({ traces }) => count(traces), isNumber: true, rank: 4 },
  { title: 'KIND', of: ({ kind }) => kind, rank: 3 },
  { title: 'STEP', of: ({ name }) => name, least: 16 }
]

const COLUMNS: readonly FittedColumn<Group>[] = [
  ...STEP_COLUMNS,
  { title: 'ERROR', of: group => errorText(group), least: 24 }
]

export default command({
  summary: 'Group failures by step, error type and message',
  flags: {
    kind: {
      type: 'string',
      value: 'K',
      about: `only failed steps of this kind: ${FIELD_VALUES.spanKind.join(', ')}, or trace`
    },
    name: { type: 'string', value: 'N', about: 'only failed steps with this exact name' },
    model: { type: 'string', value: 'M', about: 'only failed steps that use this model' },
    ...TRACE_FILTER_FLAGS,
    ...PERIOD_FLAGS,
    limit: LIMIT_FLAG(MOST),
    ...ASKING_FLAGS,
    ...OUTPUT_FLAGS
  },
  details: [
    'By default, the last 7 days are shown. Ids, paths, times, numbers and quoted names in messages are ignored.',
    'The kind `trace` selects failed traces without a failed step. Groups with the most failures come first, not',
    'counting steps that failed because a step inside them did.'
  ].join('\n'),
  examples: ['errors --since today', 'errors --kind tool --since 24h', 'errors --tag prompt:v13 --json'],
  async run(call) {
    const { flags, env, json, screen, stream, progress } = call
    refuseBoth(call)
    const query = {
      ...periodQuery(flags),
      ...traceFilters(flags),
      model: parseText('model', flags.model),
      kind: oneOf('kind', flags.kind, [...FIELD_VALUES.spanKind, 'trace']),
      name: parseText('name', flags.name)
    }
    const limit = parseLimit('limit', flags.limit, USUAL, MOST)
    const answer = await withAsker(flags, env, asker =>
      gather(asker, query, reached => progress.show(() => `looked back to ${longClock(reached)} UTC`))
    )
    progress.clear()
    const shown = { ...answer, errors: answer.errors.slice(0, limit) }
    if (json) await stream(jsonLine(JSON.stringify(shown)))
    else if (flags.ndjson) await stream(shown.errors.map(group => jsonLine(JSON.stringify(group))).join(''))
    else await screen.page(lines(shown, screen.columns))
  }
})

type Gathered = Omit<Answer, 'nextCursor' | 'pageSize'>

/** Sends requests until all traces are examined or the maximum is reached, and adds up the groups. */
async function gather(asker: Asker, query: QueryMembers, onReached: (time: string) => void): Promise<Gathered> {
  let all: readonly Group[] = []
  let steps: readonly Step[] = []
  let failureCount = 0
  let first: Answer | undefined
  for (let requests = 1, after: string | undefined; ; requests++) {
    // If no period is set, the first response's period also applies to the requests that follow.
    const times = first && { from: first.from, to: first.to }
    const text = await asker.ask('GET', requestPath('/api/v1/errors', { ...query, ...times, after, limit: MOST }))
    const answer = JSON.parse(text) as Answer
    first ??= answer
    all = mergeGroups(all, answer.errors)
    steps = mergeSteps(steps, answer.steps)
    failureCount += answer.failureCount
    after = answer.nextCursor ?? undefined
    if (after !== undefined && requests < MOST_REQUESTS) {
      if (answer.reached !== null) onReached(answer.reached)
      continue
    }
    const { complete, reached } = answer
    return {
      from: first.from,
      to: first.to,
      errors: all,
      steps,
      failureCount,
      groupCount: all.length,
      complete,
      reached,
      hint: first.hint
    } as Gathered
  }
}

/** Adds up groups of different traces. The groups with the most failures that no failed child explains come first. */
export function mergeGroups(one: readonly Group[], other: readonly Group[]): Group[] {
  return merge([...one, ...other], ({ kind, name, type, message }) => [kind, name, type, message], added)
}

/** Adds up the failures of steps, in the same order as groups. */
const mergeSteps = (one: readonly Step[], other: readonly Step[]): Step[] =>
  merge(
    [...one, ...other],
    ({ kind, name }) => [kind, name],
    (one, other) => ({ ...one, ...counts(one, other) })
  )

function merge<T extends Step>(all: readonly T[], keyOf: (one: T) => unknown, add: (one: T, other: T) => T): T[] {
  const merged = new Map<string, T>()
  for (const each of all) {
    const key = JSON.stringify(keyOf(each))
    const known = merged.get(key)
    merged.set(key, known === undefined ? each : add(known, each))
  }
  const own = ({ count, passedOn }: T) => count - passedOn
  return [...merged.values()].sort((a, b) => own(b) - own(a) || b.count - a.count)
}

const counts = (one: Step, other: Step) => ({
  count: one.count + other.count,
  passedOn: one.passedOn + other.passedOn,
  traces: one.traces + other.traces
})

function added(one: Group, other: Group): Group {
  const last = isBefore(one.lastSeen, other.lastSeen) ? other : one
  return {
    ...last,
    ...counts(one, other),
    firstSeen: isBefore(one.firstSeen, other.firstSeen) ? one.firstSeen : other.firstSeen
  }
}

function lines(gathered: Gathered, width: number): Line[] {
  const { from, to, errors, steps, failureCount, groupCount, complete, reached, hint } = gathered
  const period = `from ${longClock(from)} to ${longClock(to)} UTC`
  const only =
    complete || reached === null
      ? []
      : [[`Only traces since ${longClock(reached)} UTC were examined: use a shorter period.`]]
  if (errors.length === 0) return [[`No failures ${period}.`], ...only, ...(hint === null ? [] : [[hint]])]
  const more = groupCount > errors.length ? `, ${errors.length} of them shown` : ''
  const head = `${counted(failureCount, 'failure')} in ${counted(groupCount, 'group')}${more}, ${period}`
  const [heading, ...rows] = fitTable(COLUMNS, errors, width)
  // The steps are shown only if they are fewer than their groups.
  const bySteps =
    steps.length > 1 && steps.length < groupCount
      ? [...fitTable(STEP_COLUMNS, steps.slice(0, MOST_STEPS), width), []]
      : []
  return [
    [{ text: head, style: 'dim' }],
    [],
    ...bySteps,
    heading!,
    ...rows.flatMap((row, i) => [row, seen(errors[i]!)]),
    ...only
  ]
}

/** Says when a group's failures occurred, and names one of its traces. */
function seen({ count, firstSeen, lastSeen, example }: Group): Line {
  const when = count === 1 ? shortClock(lastSeen) : `${shortClock(firstSeen)} to ${shortClock(lastSeen)}`
  return [
    { text: `    ${when}, such as `, style: 'dim' },
    { text: example.traceId, style: 'cyan' }
  ]
}
