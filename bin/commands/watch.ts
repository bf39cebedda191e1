import { setTimeout as delay } from 'node:timers/promises'
import { AdminError } from '../../lib/admin-error.ts'
import type { Asker } from '../asking/asker.ts'
import { ASKING_FLAGS, withAsker } from '../asking/place.ts'
import { command, UsageError } from '../command.ts'
import { interruptible } from '../terminal/interrupt.ts'
import { readDuration } from '../terminal/times.ts'
import { counted } from '../terminal/words.ts'
import { alarmChange, applyChange, type Breaches, readBreaches, storeBreaches } from '../watching/alarms.ts'
import { type Condition, formatValue, isMet, type Measured, parseCondition } from '../watching/condition.ts'
import { measure } from '../watching/measure.ts'
import { type Notice, notify, type Receivers } from '../watching/notify.ts'

const LEAST_SAMPLES = 10
const EVERY_MS = 60_000
const SHORTEST_EVERY_MS = 5000

export default command({
  summary: 'Watch errors, cost, latency, tokens, scores and missing traces, and report when a limit is crossed',
  flags: {
    when: {
      type: 'string',
      value: 'C',
      repeats: true,
      required: true,
      about: 'a condition such as `errors > 5% over 15m`; may be repeated'
    },
    exec: {
      type: 'string',
      value: 'CMD',
      about: 'run this shell command when a condition is met, and again when it clears'
    },
    webhook: {
      type: 'string',
      value: 'URL',
      about: 'POST JSON to this address when a condition is met, and again when it clears'
    },
    every: { type: 'string', value: 'TIME', about: 'the time between checks; 1m by default' },
    once: { type: 'boolean', about: 'check once, for cron; the exit code is 1 if a condition is met' },
    state: { type: 'string', value: 'FILE', about: 'remember reported conditions in this file across runs' },
    'least-samples': {
      type: 'string',
      value: 'N',
      about: `the minimum number of traces or scores for rates, percentiles and means; ${LEAST_SAMPLES} by default`
    },
    ...ASKING_FLAGS
  },
  details: [
    'Conditions compare `errors` (a number, or a percentage of traces), `cost` (US dollars), `tokens`, `traces`, `p50`',
    'or `p95` (durations) or `score NAME` (mean) with a limit, over the most recent period: `p95 > 30s over 15m`. Only',
    'finished traces that started within the period are counted. `silence > 10m` is met if no trace has started for',
    'that long.',
    '',
    'A condition is reported once when it is met, and once when it clears. A failed report is sent again at the next',
    'check. --exec gets the notice as JSON on stdin, and in SPOOR_WATCH_EVENT (fired or resolved),',
    'SPOOR_WATCH_CONDITION, SPOOR_WATCH_VALUE and SPOOR_WATCH_TEXT. Without --state, every run with --once reports',
    'again.'
  ].join('\n'),
  examples: [
    "watch --project default --when 'errors > 5% over 15m' --webhook https://hooks.example.com/T0/B0",
    "watch --project default --when 'silence > 30m' --when 'cost > 50 over 1d' --exec 'mail -s spoor ops@example.com'",
    "watch --once --state /var/lib/spoor/watch.json --when 'p95 > 30s over 1h' --exec ./page.sh"
  ],
  async run({ flags, env, print, progress }) {
    const conditions = (flags.when ?? []).map(parseCondition)
    const receivers = { exec: flags.exec, webhook: readWebhook(flags.webhook) }
    const leastSamples = readLeast(flags['least-samples'])
    const everyMs = readEvery(flags.every)
    let breaches = flags.state === undefined ? {} : await readBreaches(flags.state)
    await withAsker(flags, env, asker =>
      interruptible(async signal => {
        const say = (text: string) => progress.say(text)
        const look = async () => {
          const looked = await lookAt(asker, conditions, breaches, leastSamples)
          breaches = await report(looked, breaches, { receivers, env, state: flags.state, say })
          return looked
        }
        if (flags.once) {
          const looked = await look()
          print(looked.map(describe), looked.map(({ text }) => text).join('\n'))
          finishOnce(looked)
          return
        }
        while (!signal.aborted) {
          await look()
          await delay(everyMs, undefined, { signal }).catch(() => {})
        }
      })
    )
  }
})

interface Looked {
  readonly condition: Condition
  /** Undefined if the condition could not be measured. */
  readonly measured: Measured | undefined
  readonly isBreached: boolean | undefined
  readonly text: string
  isReported: boolean
}

async function lookAt(
  asker: Asker,
  conditions: readonly Condition[],
  breaches: Breaches,
  leastSamples: number
): Promise<Looked[]> {
  const all: Looked[] = []
  for (const condition of conditions) {
    try {
      const measured = await measure(asker, condition, Date.now())
      const isBreached = isMet(condition, measured, leastSamples)
      const value = formatValue(condition.measure, measured.value)
      const isOver = !isBreached && Object.hasOwn(breaches, condition.text)
      const text = `${condition.text}: ${isBreached ? 'breached' : isOver ? 'resolved' : 'ok'}, now ${value}`
      all.push({ condition, measured, isBreached, text, isReported: true })
    } catch (error) {
      const text = `${condition.text}: cannot be measured: ${(error as Error).message}`
      all.push({ condition, measured: undefined, isBreached: undefined, text, isReported: true })
    }
  }
  return all
}

interface Reporting {
  readonly receivers: Receivers
  readonly env: NodeJS.ProcessEnv
  readonly state: string | undefined
  say(text: string): void
}

/** Reports changes, and returns the breaches that remain. */
async function report(looked: Looked[], before: Breaches, reporting: Reporting): Promise<Breaches> {
  let breaches = before
  for (const each of looked) {
    const { condition, measured, isBreached, text } = each
    if (measured === undefined) reporting.say(`spoor: ${text}`)
    const change = alarmChange(breaches, condition.text, isBreached)
    if (change === undefined) continue
    const at = new Date().toISOString()
    const since = breaches[condition.text] ?? at
    const notice: Notice = { event: change, condition: condition.text, value: measured?.value ?? null, text, at, since }
    reporting.say(text)
    try {
      await notify(notice, reporting.receivers, reporting.env)
    } catch (error) {
      each.isReported = false
      reporting.say(`spoor: ${(error as Error).message}; retrying at the next check`)
      continue
    }
    breaches = applyChange(breaches, condition.text, change, at)
    if (reporting.state !== undefined) await storeBreaches(reporting.state, breaches)
  }
  return breaches
}

const describe = ({ condition, measured, isBreached }: Looked) => ({
  condition: condition.text,
  value: measured?.value ?? null,
  samples: measured?.samples ?? null,
  breached: isBreached ?? null
})

function finishOnce(looked: readonly Looked[]): void {
  const failed = looked.filter(({ measured, isReported }) => measured === undefined || !isReported).length
  if (failed > 0) throw new AdminError(`${counted(failed, 'condition')} could not be measured or reported: see above`)
  const breached = looked.filter(({ isBreached }) => isBreached).length
  if (breached > 0) throw new AdminError(`${counted(breached, 'condition')} ${breached === 1 ? 'is' : 'are'} met`)
}

function readWebhook(text: string | undefined): URL | undefined {
  if (text === undefined) return undefined
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text)
  // The address may contain a secret, so the message does not repeat it.
  throw new UsageError('--webhook must be an address that begins with http:// or https://')
}

function readLeast(text: string | undefined): number {
  if (text === undefined) return LEAST_SAMPLES
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text)
  throw new UsageError(`--least-samples must be a number from 1 to 999999, not ${JSON.stringify(text)}`)
}

function readEvery(text: string | undefined): number {
  const ms = text === undefined ? EVERY_MS : readDuration(text)
  if (ms !== undefined && ms >= SHORTEST_EVERY_MS && ms <= 86_400_000) return ms
  throw new UsageError(`--every must be a duration from 5s to 1d, not ${JSON.stringify(text)}`)
}
