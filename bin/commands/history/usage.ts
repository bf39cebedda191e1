import { FIELD_VALUES } from '../../../lib/schema/field-values.ts'
import type { UsageReply, UsageRow } from '../../../lib/schema/history/usage.ts'
import { requestPath } from '../../asking/asker.ts'
import { jsonLine, LIMIT_FLAG, OUTPUT_FLAGS, parseLimit, printAnswer, refuseBoth } from '../../asking/output.ts'
import { ASKING_FLAGS, withAsker } from '../../asking/place.ts'
import { command } from '../../command.ts'
import { type FittedColumn, fitTable } from '../../terminal/fitted-table.ts'
import type { Line } from '../../terminal/lines.ts'
import { count, duration, longClock, money } from '../../terminal/words.ts'
import { CONDITION_FLAGS, justAfter, oneOf, parseText } from '../traces/conditions.ts'
import { PERIOD_FLAGS, periodQuery } from './period.ts'

const INTERVALS = ['hour', 'day', 'none']
const USUAL = 20
const MOST = 200

const { name, model, tag, user, session } = CONDITION_FLAGS

export default command({
  summary: 'Show traces, errors, tokens and cost over time',
  flags: {
    by: {
      type: 'string',
      value: 'B',
      about: 'group by model, name, environment, user, step, or tag:KEY for tags such as KEY:value'
    },
    sort: {
      type: 'string',
      value: 'S',
      about: `sort groups by ${FIELD_VALUES.usageSort.join(', ')}; traces by default`
    },
    'step-kind': { type: 'string', value: 'K', about: 'with --by step: only steps of this kind' },
    scores: { type: 'boolean', about: 'also show the mean of each score, for up to 20,000 traces' },
    interval: { type: 'string', value: 'I', about: `${INTERVALS.join(', ')}; none by default` },
    ...{ name, model, tag, user, session },
    ...PERIOD_FLAGS,
    limit: LIMIT_FLAG(MOST),
    ...ASKING_FLAGS,
    ...OUTPUT_FLAGS
  },
  details: [
    'By default, the last 7 days are shown. Only finished traces are counted. Percentiles marked `≈` are approximate.',
    'With --interval, --since is rounded down to a whole hour or day (UTC). With --ndjson, each line is a row.'
  ].join('\n'),
  examples: [
    'usage --by model --since 30d',
    'usage --by step --step-kind tool --sort errors --since today --limit 5',
    'usage --tag prompt:v13 --by model --since 7d',
    'usage --by tag:prompt --scores --since 7d',
    'usage --interval day --since 2w --json'
  ],
  async run(call) {
    const { flags, env, screen } = call
    refuseBoth(call)
    const { to, from, ...period } = periodQuery(flags)
    const interval = oneOf('interval', flags.interval, INTERVALS)
    const query = {
      ...period,
      from: flags.since === undefined || from === undefined ? from : wholeSteps(String(from), interval),
      // The API treats the end of this period as exclusive.
      to: to === undefined ? undefined : justAfter(String(to)),
      name: parseText('name', flags.name),
      model: parseText('model', flags.model),
      tag: parseText('tag', flags.tag),
      userId: parseText('user', flags.user),
      sessionId: parseText('session', flags.session),
      by: parseText('by', flags.by),
      sort: oneOf('sort', flags.sort, FIELD_VALUES.usageSort),
      stepKind: oneOf('step-kind', flags['step-kind'], FIELD_VALUES.spanKind),
      interval,
      scores: flags.scores || undefined,
      limit: parseLimit('limit', flags.limit, USUAL, MOST)
    }
    const text = await withAsker(flags, env, asker => asker.ask('GET', requestPath('/api/v1/usage', query)))
    if (flags.ndjson) {
      const { rows } = JSON.parse(text) as UsageReply
      await call.stream(rows.map(row => jsonLine(JSON.stringify(row))).join(''))
    } else await printAnswer<UsageReply>(call, text, usage => lines(usage, screen.columns))
  }
})

const STEP_MS: Readonly<Record<string, number>> = { hour: 3_600_000, day: 86_400_000 }

/** Rounds a time down to a whole step, so that the first row covers a whole hour or day. */
function wholeSteps(from: string, interval: string | undefined): string {
  const step = STEP_MS[interval ?? 'none'] ?? 1
  return new Date(Math.floor(Date.parse(from) / step) * step).toISOString()
}

function lines(usage: UsageReply, width: number): Line[] {
  const { from, to, by, approximate, countedFrom, total, rows, others, hint } = usage
  const columns = [...columnsOf(by, approximate), ...scoreColumns(total)]
  const all: UsageRow = {
    ...total,
    start: by === null ? 'all' : null,
    key: 'all',
    kind: null,
    isOther: false,
    steps: null
  }
  const head = `${longClock(from)} to ${longClock(to)} UTC`
  const notes = [
    ...(others > 0 ? [`${count(others)} groups are combined as "other". To list more of them, raise --limit.`] : []),
    ...(countedFrom === null ? [] : [`Traces that started before ${longClock(countedFrom)} UTC are not counted yet.`]),
    ...(hint === null ? [] : [hint])
  ]
  const isSplit = by !== null || usage.interval !== 'none'
  const table = fitTable(columns, isSplit ? [...rows, all] : [all], width)
  return [[{ text: head, style: 'dim' }], [], ...table, ...notes.map(note => [note])]
}

function columnsOf(by: string | null, approximate: boolean): FittedColumn<UsageRow>[] {
  const about = (ms: number | null) =>
    `${approximate && ms !== null ? '≈' : ''}${duration(ms === null ? null : Math.round(ms))}`
  return [
    { title: 'START (UTC)', of: startOf, rank: 9 },
    ...(by === null ? [] : [{ title: by.toUpperCase(), of: groupOf, least: 20 }]),
    { title: 'KIND', of: ({ kind }) => kind ?? '', rank: 8 },
    { title: 'STEPS', of: ({ steps }) => (steps === null ? '' : count(steps)), isNumber: true, rank: 5 },
    { title: 'TRACES', of: ({ traces }) => count(traces), isNumber: true },
    { title: 'ERRORS', of: ({ errors }) => count(errors), isNumber: true },
    { title: 'TOKENS IN', of: ({ inputTokens }) => count(inputTokens), isNumber: true, rank: 3 },
    { title: 'OUT', of: ({ outputTokens }) => count(outputTokens), isNumber: true, rank: 4 },
    // If no cost is known, the cell is empty instead of $0.00.
    {
      title: 'COST',
      of: ({ costUsd, withoutCost }) => (costUsd === 0 && withoutCost > 0 ? '' : money(costUsd)),
      isNumber: true
    },
    { title: 'NO COST', of: ({ withoutCost }) => count(withoutCost), isNumber: true, rank: 6 },
    { title: 'P50', of: ({ p50Ms }) => about(p50Ms), isNumber: true, rank: 2 },
    { title: 'P95', of: ({ p95Ms }) => about(p95Ms), isNumber: true, rank: 1 }
  ]
}

/** Returns a column for each score, with its mean or, for categories, the number of traces. */
function scoreColumns({ scores = [] }: UsageReply['total']): FittedColumn<UsageRow>[] {
  return scores.map(({ name }) => ({
    title: name.toUpperCase(),
    of: row => {
      const found = row.scores?.find(score => score.name === name)
      return found === undefined ? '' : (found.mean?.toFixed(2) ?? `×${count(found.count)}`)
    },
    isNumber: true
  }))
}

const startOf = ({ start }: UsageRow): string =>
  start === null || start === 'all' ? (start ?? '') : longClock(start).slice(0, 16)
const groupOf = ({ key, isOther }: UsageRow): string => key ?? (isOther ? '(other)' : '(none)')
