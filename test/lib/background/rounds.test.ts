import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Rounds, type RoundsOptions } from '../../../lib/background/rounds.ts'
import { createLog } from '../../../lib/log.ts'
import { until } from '../../fixtures/until.ts'

function start(t: Test, work: (round: number) => Promise<void>, options: Partial<RoundsOptions> = {}) {
  const lines: Record<string, unknown>[] = []
  const log = createLog('info', { write: line => lines.push(JSON.parse(line)) })
  let round = 0
  const rounds = new Rounds({ what: 'sweeping', pauseMs: 1, log, ...options }, () => work(++round))
  t.teardown(() => rounds.close())
  return { rounds, lines, count: () => round }
}

const refused = () => Object.assign(new Error('canceling statement'), { name: 'PostgresError', code: '57014' })

t.test('a persistent failure is one line with its cause, and one more when the work succeeds again', async t => {
  const { lines, count } = start(t, async round => {
    if (round <= 20) throw refused()
  })
  await until(() => count() > 25)
  t.match(lines, [
    { level: 'warn', msg: 'sweeping failed; retrying', cause: 'canceling statement', code: '57014' },
    { level: 'info', msg: 'sweeping works again', failures: 20 }
  ])
  t.equal(lines.length, 2)
})

t.test('while the database accepts no writes, failing rounds do not log a line each', async t => {
  let isReady = false
  let error: Error = refused()
  const fail = () => Promise.reject(error)
  const { lines, count } = start(t, fail, {
    health: { isSetUp: () => true, isReady: async () => isReady }
  })
  await until(() => count() > 5)
  t.same(lines, [])
  error = new TypeError('a fault of ours')
  await until(() => lines.length > 0)
  t.match(lines, [{ cause: 'a fault of ours' }], 'a bug of our own is still logged')
  isReady = true
  error = refused()
  await until(() => lines.length > 1)
  t.match(lines[1], { code: '57014' }, 'and so is a database error that affects only this work')
})

t.test('rounds wait for the schema', async t => {
  let isSetUp = false
  const { lines, count } = start(t, async () => {}, { health: { isSetUp: () => isSetUp, isReady: async () => true } })
  await delay(20)
  t.equal(count(), 0)
  isSetUp = true
  await until(() => count() > 0)
  t.same(lines, [])
})

t.test('a round without progress is one line, and a slow one is none', async t => {
  let letGo = () => {}
  const held = new Promise<void>(resolve => {
    letGo = resolve
  })
  const stuck = start(t, async round => (round === 1 ? held : undefined), { stuckMs: 20 })
  await until(() => stuck.lines.length > 0)
  await delay(60)
  t.match(stuck.lines, [{ level: 'warn', msg: /^sweeping is stuck/ }])
  t.equal(stuck.lines.length, 1)
  letGo()
  await until(() => stuck.lines.length > 1)
  t.match(stuck.lines[1], { level: 'info', msg: 'sweeping is making progress again' })

  const slow = start(
    t,
    async () => {
      for (let piece = 0; piece < 10; piece++) {
        await delay(5)
        slow.rounds.advance()
      }
    },
    { stuckMs: 5000 }
  )
  await until(() => slow.count() > 2)
  t.same(slow.lines, [])
})
