import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../lib/errors.ts'
import { FailureLog, Recurrence } from '../../lib/failure-log.ts'
import { createLog } from '../../lib/log.ts'
import { runs } from '../torture/orders.ts'

const REMIND_MS = 100
const STEP = fc.record({
  afterMs: fc.nat(80),
  what: fc.constantFrom('disk full', 'locked', 'away', 'success' as const)
})

t.test('each cause has a line at once, then one per interval, and the counts include every failure', async t => {
  const property = fc.property(fc.array(STEP, { maxLength: 60 }), steps => {
    const recurrence = new Recurrence(REMIND_MS)
    let now = 0
    let since: number | undefined
    let failures = 0
    const byCause = new Map<string, { loggedAt: number; unlogged: number }>()
    for (const { afterMs, what } of steps) {
      now += afterMs
      if (what === 'success') {
        const expected = since === undefined ? undefined : { failures, ms: now - since }
        t.same(recurrence.succeed(now), expected)
        since = undefined
        failures = 0
        byCause.clear()
        continue
      }
      since ??= now
      failures++
      const times = recurrence.fail(what, now)
      const known = byCause.get(what)
      const isDue = known === undefined || now - known.loggedAt >= REMIND_MS
      if (isDue !== (times !== undefined)) return false
      if (times !== undefined && times !== (known?.unlogged ?? 0) + 1) return false
      byCause.set(what, isDue ? { loggedAt: now, unlogged: 0 } : { ...known, unlogged: known.unlogged + 1 })
    }
    return true
  })
  fc.assert(property, runs(200))
})

function capture(options: { recovered?: string } = {}) {
  const lines: Record<string, unknown>[] = []
  const log = createLog('info', { write: line => lines.push(JSON.parse(line)) })
  return { lines, failures: new FailureLog(log, { failed: 'it failed', remindMs: 60_000, ...options }) }
}

t.test("a line has the cause and PostgreSQL's code, and no data from clients", async t => {
  const { lines, failures } = capture({ recovered: 'it works again' })
  const said = {
    name: 'PostgresError',
    code: '53100',
    detail: 'Key (id)=(secret)',
    where: 'COPY traces, line 1: "secret"'
  }
  const error = Object.assign(new Error('could not extend file "base/1/2"'), said)
  failures.fail(error, { operations: 3 })
  failures.fail(Object.assign(new Error('could not extend file "base/1/3"'), said))
  failures.fail(Object.assign(new Refusal('quota_exhausted', 'refused'), { cause: error }))
  failures.fail(new TypeError('a fault of ours'))
  failures.succeed()
  failures.succeed()
  t.match(lines, [
    { level: 'warn', msg: 'it failed', cause: 'could not extend file "base/1/2"', code: '53100', operations: 3 },
    { level: 'warn', msg: 'it failed', cause: 'a fault of ours', stack: /TypeError: a fault of ours\n/ },
    { level: 'info', msg: 'it works again', failures: 4, ms: Number }
  ])
  t.equal(lines.length, 3)
  t.notMatch(JSON.stringify(lines), /secret/)
  t.notOk('stack' in lines[0]!, "a refusal's stack adds nothing")
})
