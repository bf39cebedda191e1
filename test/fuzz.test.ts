/**
 * No input gives a 5xx, an answer without its envelope, or an error in the log. A short run belongs to the suite;
 * `npm run fuzz -- --seconds 600` (test/fuzz-run.ts) goes on for as long as it is told.
 */
import assert from 'node:assert'
import { connect } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { ERROR_CODES } from '../lib/errors.ts'
import { createLog } from '../lib/log.ts'
import { encodeBody, type FuzzRequest, fuzzRequest } from './fixtures/fuzz.ts'
import { fuzzBytes } from './fixtures/fuzz-bytes.ts'
import { ENDPOINT } from './fixtures/mcp.ts'
import { parseRaw } from './fixtures/raw.ts'
import { type Answer, testService } from './fixtures/service.ts'

const SECONDS = Number(process.env.SPOOR_FUZZ_SECONDS ?? 0)
const SEED = process.env.SPOOR_FUZZ_SEED
const PROGRESS_MS = 5000
const LEAVE = /^HTTP\/1\.1 100 Continue\r\n\r\n/

/** As many runs as the suite has time for, or as the time that was asked for allows; `share` is of that time. */
function bounds(runs: number, share: number): fc.Parameters<unknown> {
  const seed = SEED === undefined ? {} : { seed: Number(SEED) }
  if (SECONDS === 0) return { numRuns: runs, ...seed }
  return { numRuns: 1e9, interruptAfterTimeLimit: SECONDS * 1000 * share, markInterruptAsFailure: false, ...seed }
}

t.test('whatever is sent, the service answers as it should, and goes on', async t => {
  const lines: string[] = []
  const log = createLog('warn', { write: line => lines.push(line) })
  const { call, key, makeKey, port } = await testService(t, { log })
  const keys: Record<FuzzRequest['who'], string | null> = {
    all: key,
    reader: (await makeKey({ scopes: ['traces:read'] })).key,
    other: (await makeKey({ environment: 'prod' })).key,
    nobody: null,
    wrong: key.replace(/.$/, last => (last === 'x' ? 'y' : 'x'))
  }
  const seen = new Map<number, number>()
  let sent = 0
  const count = (status: number) => {
    sent++
    seen.set(status, (seen.get(status) ?? 0) + 1)
  }
  const started = performance.now()
  const report = () => {
    const statuses = [...seen].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`)
    const seconds = Math.round((performance.now() - started) / 1000)
    t.comment(`${seconds} s of ${SECONDS} s, ${sent} requests (${statuses.join(', ')})`)
  }
  if (SECONDS > 0) {
    const progress = setInterval(report, PROGRESS_MS)
    t.teardown(() => clearInterval(progress))
  }

  const checkQuiet = () => assert.deepEqual(lines, [], 'nothing to warn of in the log')
  const send = ({ method, path, who, headers, body }: FuzzRequest) => {
    if (body === undefined) return call(method, path, { key: keys[who], headers })
    const { bytes, contentEncoding } = encodeBody(body)
    return call(method, path, {
      key: keys[who],
      headers: { 'content-encoding': contentEncoding, ...headers },
      body: bytes
    })
  }

  await fc.assert(
    fc.asyncProperty(fuzzRequest, async request => {
      const answer = await send(request)
      count(answer.status)
      checkAnswer(request, answer)
      checkQuiet()
    }),
    bounds(200, 0.8)
  )

  await fc.assert(
    fc.asyncProperty(fuzzBytes, async text => {
      const received = (await exchange(port, text.replace('KEY', key))).replace(LEAVE, '')
      // A client that breaks off need not be answered.
      if (received === '') return
      const answer = parseRaw(received)
      count(answer.status)
      assert.ok(answer.status >= 200 && answer.status < 500, received)
      assert.match(answer.headers['x-request-id'] ?? '', /^\w{24}$/)
      checkQuiet()
    }),
    bounds(100, 0.2)
  )

  t.equal((await call('GET', '/api/v1/key')).status, 200, 'it still answers')
  t.ok(
    [200, 201, 400, 404].every(status => seen.has(status)),
    'and the requests went everywhere'
  )
  if (SECONDS > 0) report()
})

/** Every answer is one that a client may get for its own mistakes, in the form of the specification. */
function checkAnswer({ method, path }: FuzzRequest, { status, headers, body, text }: Answer): void {
  assert.ok(status < 500 && status !== 429, `${status} ${text}`)
  assert.match(String(headers['x-request-id']), /^\w{24}$/)
  assert.ok(headers['cache-control'])
  if (status < 400 || method === 'HEAD') return
  // What the protocol has errors of its own for.
  if (path.startsWith(ENDPOINT) && body.jsonrpc === '2.0') return
  assert.deepEqual(Object.keys(body), ['error'])
  assert.deepEqual(Object.keys(body.error), ['code', 'message', 'requestId'])
  assert.ok(ERROR_CODES.includes(body.error.code), body.error.code)
  assert.ok(body.error.message.length > 0 && body.error.message.length < 1000, body.error.message)
  assert.equal(body.error.requestId, headers['x-request-id'])
}

/** Sends bytes and says that there will be no more, then takes what comes back. */
function exchange(port: number, text: string): Promise<string> {
  return new Promise(resolve => {
    let received = ''
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      received += chunk
    })
    // A reset is an answer too, to what was no HTTP.
    socket.on('error', () => {})
    socket.on('close', () => resolve(received))
    socket.end(Buffer.from(text, 'latin1'))
  })
}
