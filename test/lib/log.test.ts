import t from 'tap'
import { createLog, type LoggedRequests, type LogOptions, logRequest } from '../../lib/log.ts'
import { testDatabase } from '../fixtures/database/database.ts'
import { testService } from '../fixtures/service/service.ts'
import { configurationFor, startSpoor, stop } from '../fixtures/service/spoor.ts'

function collect(options: LogOptions = {}) {
  const lines: string[] = []
  return { lines, log: createLog('info', { write: line => void lines.push(line) }, options) }
}

const REQUEST = {
  requestId: 'a1',
  method: 'POST',
  path: '/api/v1/traces',
  route: 'recordTrace',
  status: 201,
  ms: 3.2,
  bytesIn: 100,
  bytesOut: 50,
  client: '192.0.2.1',
  keyId: 'k1',
  keyLabel: 'the "CI" key',
  user: undefined,
  project: 1
}

t.test('a line states its level by name, and a request’s line is what pino would write', t => {
  const { lines, log } = collect()
  log.warn({ a: 1 }, 'something')
  t.match(JSON.parse(lines[0] ?? ''), { level: 'warn', time: /Z$/, a: 1, msg: 'something' })
  logRequest(log, REQUEST)
  const { user, ...fields } = REQUEST
  const { time, ...line } = JSON.parse(lines[1] ?? '')
  t.strictSame(line, { level: 'info', ...fields, msg: 'request' })
  t.end()
})

t.test('the log names commands as spoor was started', t => {
  const { lines, log } = collect({ command: 'docker exec "my spoor" spoor' })
  log.warn({ cause: 'run `spoor migrate`' }, 'spoor is not ready: see `spoor status`')
  logRequest(log, { ...REQUEST, path: '/`spoor x`' })
  const [line, request] = lines.map(each => JSON.parse(each))
  t.match(line, { cause: 'run `docker exec "my spoor" spoor migrate`' })
  t.equal(line.msg, 'spoor is not ready: see `docker exec "my spoor" spoor status`')
  t.equal(request.path, '/`spoor x`', 'a path is logged as it was sent')
  t.end()
})

t.test('LOG_REQUESTS selects the requests that are logged', t => {
  const expected: [LoggedRequests, number[]][] = [
    ['all', [201, 404, 500, 200]],
    ['errors', [404, 500]],
    ['slow', [404, 500, 200]],
    ['none', []]
  ]
  for (const [requests, statuses] of expected) {
    const { lines, log } = collect({ requests })
    for (const status of [201, 404, 500]) logRequest(log, { ...REQUEST, status })
    logRequest(log, { ...REQUEST, status: 200, ms: 1000 })
    t.same(
      lines.map(line => JSON.parse(line).status),
      statuses,
      requests
    )
    log.warn('other lines are written')
    t.equal(lines.length, statuses.length + 1)
  }
  t.end()
})

t.test('the text format is for people: one line each, whatever it contains', t => {
  const { lines, log } = collect({ format: 'text' })
  logRequest(log, { ...REQUEST, path: '/x\u001b[2J' })
  log.info({ port: 8787, host: 'a b' }, 'listening\non')
  log.error(new Error('broken'), 'a fault')
  t.match(
    lines[0],
    /^\d\d:\d\d:\d\d\.\d{3} info {2}POST \/x\\u001b\[2J 201 3\.2 ms {2}requestId=a1 {2}.*keyLabel="the \\"CI\\" key" {2}project=1\n$/
  )
  t.match(lines[1], / info {2}listening\\u000aon {2}port=8787 {2}host="a b"\n$/)
  t.match(lines[2], / error a fault\n {4}Error: broken\n {4,}at /)
  t.end()
})

t.test("a request’s line has the client behind a trusted proxy, and its key's label", async t => {
  const { lines, log } = collect()
  const service = await testService(t, { log, config: { trustProxy: ['127.0.0.1'] } })
  const { key } = await service.makeKey({ label: 'nightly' })
  await service.call('GET', '/api/v1/key', { key, headers: { 'x-forwarded-for': '203.0.113.9, 198.51.100.1' } })
  const line = lines.map(each => JSON.parse(each)).find(each => each.msg === 'request')
  t.match(line, { route: 'getKey', client: '198.51.100.1', keyLabel: 'nightly' })
})

t.test('lines from the last moment of a process are written too', async t => {
  const database = await testDatabase(t)
  const env = { ...configurationFor(database), LOG_LEVEL: 'info' }
  // A single process could write its last line in time by chance.
  for (let i = 0; i < 2; i++) {
    const serving = await startSpoor(t, env)
    const [address] = /http:\S+/.exec(serving.out)!
    await (await fetch(`${address}/healthz`)).text()
    t.match((await stop(serving)).err, /"path":"\/healthz"/)
  }
})
