/** No input may cause a 5xx, crash the server, or delay it so that other clients get no response. */
import assert from 'node:assert'
import { readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { request } from 'undici'
import { DASHBOARD_ERRORS, ERROR_CODES } from '../../../lib/errors.ts'
import { createLog } from '../../../lib/log.ts'
import { PROTOBUF_TYPE } from '../../../lib/schema/otlp.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { ENDPOINT } from '../../fixtures/service/mcp.ts'
import { asking, signedIn } from '../../fixtures/service/people.ts'
import { parseRaw } from '../../fixtures/service/raw.ts'
import { type Answer, testService } from '../../fixtures/service/service.ts'
import { configurationFor, serve } from '../../fixtures/service/spoor.ts'
import { encodeBody, type FuzzRequest, fuzzRequest, richTrace, TRACE_IDS } from '../input/fuzz.ts'
import { fuzzBytes } from '../input/fuzz-bytes.ts'
import { pageRequest } from '../input/fuzz-pages.ts'
import { fuzzSearches } from '../input/fuzz-searches.ts'
import { HEAVY_TRACES, type Heavy, heavyRequests } from '../input/heavy.ts'
import { STALLS_VARIABLE } from '../input/stalls.ts'
import { figure, isLong, longTest, randomNumbers, rounds, runs } from '../orders.ts'

/** Maximum time for which the server's event loop may be blocked. */
const MOST_STALL_MS = 100
/** The machine may also pause the server, but hardly in every one of these attempts. */
const TRIES = 4
/** Number of heavy requests that `npm test` sends. */
const SHORT = 8
/** Share of the time for heavy requests. The rest is for almost valid requests. */
const HEAVY_SHARE = 0.7
/** A google.rpc.Status starts with its field `code`. */
const STATUS_CODE_TAG = 0x08
const LEAVE = /^HTTP\/1\.1 100 Continue\r\n\r\n/

t.test('no request blocks the server', async t => {
  const database = await testDatabase(t)
  const stalls = join(await testFolder(t), 'stalls')
  const env = { ...configurationFor(database), [STALLS_VARIABLE]: stalls }
  const { address, key, serving } = await serve(t, env, [`--import=${new URL('../input/stalls.js', import.meta.url)}`])
  const send = async ({ method, path, headers }: Omit<Heavy, 'name'>, body: string | Uint8Array | null = null) => {
    const answer = await request(address + path, {
      method: method ?? (body === null ? 'GET' : 'POST'),
      headers: { authorization: `Bearer ${key}`, ...headers },
      body,
      headersTimeout: 0,
      reset: true
    })
    return { status: answer.statusCode, text: await answer.body.text() }
  }
  /** Returns the longest stall since the previous call, in ms; 0 if all were short. */
  const stall = async () => {
    await delay(30)
    const text = await readFile(stalls, 'utf8').catch(() => '')
    await rm(stalls, { force: true })
    return Math.max(0, ...text.trim().split('\n').map(Number))
  }
  /** Sends a request, twice if it has a body, because a repetition runs other code. Returns the longest stall. */
  const stallOf = async (heavy: Heavy) => {
    const body = heavy.body?.()
    await stall()
    for (let sendings = body === undefined ? 1 : 2; sendings > 0; sendings--) {
      const { status, text } = await send(heavy, body)
      if (status >= 500) t.fail(`${heavy.name}: ${status} ${text.slice(0, 200)}`)
    }
    return stall()
  }
  for (const body of HEAVY_TRACES) t.equal((await send({ path: '/api/v1/traces' }, JSON.stringify(body))).status, 201)

  let longest = 0
  const random = randomNumbers()
  const all = heavyRequests(isLong ? 1 : 1 / 64)
    .map(heavy => ({ heavy, order: random() }))
    .sort((a, b) => a.order - b.order)
  for (const round of rounds(SHORT, all.length, HEAVY_SHARE)) {
    const { heavy } = all[round - 1]!
    let held = await stallOf(heavy)
    figure('heavy requests, each sent twice', `${round} of ${all.length}`)
    if (!isLong) continue
    for (let tries = 1; held > MOST_STALL_MS && tries < TRIES; tries++) held = Math.min(held, await stallOf(heavy))
    if (held > MOST_STALL_MS) t.fail(`${heavy.name}: ${Math.round(held)} ms`)
    if (held <= longest) continue
    longest = held
    figure('longest stall, ms, and its cause', `${Math.round(held)}, ${heavy.name}`)
  }
  t.same(serving.err.split('\n').filter(isWarning), [], 'the log has no warnings')
})

longTest('any search in any recorded data succeeds, or is rejected in a sentence', fuzzSearches)

t.test('the service responds to any request as it should, and continues', async t => {
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
    seen.set(status, (seen.get(status) ?? 0) + 1)
    if (++sent % 100 === 0) figure('almost valid requests', `${sent}, answered ${[...seen.keys()].sort()}`)
  }

  const checkQuiet = () => assert.deepEqual(lines.filter(isWarning), [], 'nothing to warn of in the log')
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
    fc.asyncProperty(fuzzBytes, async text => {
      const received = (await exchange(port, text.replace('KEY', key))).replace(LEAVE, '')
      // A client that closes its connection need not get a response.
      if (received === '') return
      const answer = parseRaw(received)
      count(answer.status)
      assert.ok(answer.status >= 200 && answer.status < 500, received)
      assert.match(answer.headers['x-request-id'] ?? '', /^\w{24}$/)
      checkQuiet()
    }),
    { ...runs(40), ...(isLong && { numRuns: 5000 }) }
  )

  await fc.assert(
    fc.asyncProperty(fuzzRequest, async request => {
      const answer = await send(request)
      count(answer.status)
      checkAnswer(request, answer)
      checkQuiet()
    }),
    runs(120)
  )

  t.equal((await call('GET', '/api/v1/key')).status, 200, 'it still responds')
  // A few random requests may all fail to record, or never request anything that is missing.
  const wanted = isLong ? [200, 201, 400, 404] : [200, 400]
  t.ok(
    wanted.every(status => seen.has(status)),
    'and the requests reached everything'
  )
})

t.test('the dashboard responds to any request as it should, and continues', async t => {
  const lines: string[] = []
  const log = createLog('warn', { write: line => lines.push(line) })
  const service = await testService(t, { log })
  const cookies: Record<FuzzRequest['who'], string | undefined> = {
    all: (await signedIn(service, 'owner@example.com', 'owner')).cookie,
    reader: (await signedIn(service, 'viewer@example.com', 'viewer')).cookie,
    other: (await signedIn(service, 'member@example.com', 'member')).cookie,
    nobody: undefined,
    wrong: `${service.app.cookie.name}=${'x'.repeat(43)}`
  }
  const seen = new Map<number, number>()
  let sent = 0
  await fc.assert(
    fc.asyncProperty(pageRequest, async request => {
      // The traces are recorded again, because requests with the owner's session delete them.
      if (sent % 20 === 0)
        for (const id of TRACE_IDS) await service.call('POST', '/api/v1/traces', { body: richTrace(id) })
      const { method, path, who, headers, body } = request
      const { bytes, contentEncoding } = body === undefined ? {} : encodeBody(body)
      const encoding = contentEncoding === undefined ? {} : { 'content-encoding': contentEncoding }
      const answer = await asking(service, cookies[who])(method, path, {
        ...(bytes !== undefined && { body: bytes }),
        headers: { ...encoding, ...headers }
      })
      seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
      if (++sent % 100 === 0) figure('almost valid dashboard requests', `${sent}, ${[...seen.keys()].sort()}`)
      // Only a few passwords are allowed at a time.
      if (answer.status === 429 && path.startsWith('/app/api/password')) return
      if (answer.headers['content-type'] === 'text/html; charset=utf-8') assert.equal(answer.status, 200)
      else checkAnswer(request, answer)
      assert.deepEqual(lines.filter(isWarning), [], 'nothing to warn of in the log')
    }),
    runs(300)
  )
  t.ok(
    [200, 400, 401, 403, 404].every(status => seen.has(status)),
    `the requests reached everything: ${[...seen]}`
  )
})

/** Returns whether a line of the log reports something other than rejected spans of an export. */
const isWarning = (line: string): boolean => line !== '' && !/"msg":"OTLP export: \d+ rejected: /.test(line)

/** Checks that a response is neither a 429 nor a 5xx, and has the specification's format. */
function checkAnswer({ method, path }: FuzzRequest, { status, headers, body, text }: Answer): void {
  assert.ok(status < 500 && status !== 429, `${status} ${text}`)
  assert.match(String(headers['x-request-id']), /^\w{24}$/)
  assert.ok(headers['cache-control'])
  if (status < 400 || method === 'HEAD') return
  // JSON-RPC has its own errors.
  if (path.startsWith(ENDPOINT) && body.jsonrpc === '2.0') return
  if (headers['content-type'] === PROTOBUF_TYPE) {
    assert.equal(text.charCodeAt(0), STATUS_CODE_TAG)
    return
  }
  assert.deepEqual(Object.keys(body), ['error'])
  assert.deepEqual(Object.keys(body.error), ['code', 'message', 'requestId'])
  assert.ok([...ERROR_CODES, ...Object.keys(DASHBOARD_ERRORS)].includes(body.error.code), body.error.code)
  assert.ok(body.error.message.length > 0 && body.error.message.length < 1000, body.error.message)
  assert.equal(body.error.requestId, headers['x-request-id'])
}

/** Sends bytes, ends its side of the connection, and returns what arrives. */
function exchange(port: number, text: string): Promise<string> {
  return new Promise(resolve => {
    let received = ''
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      received += chunk
    })
    // A reset is a valid reaction to bytes that are not HTTP.
    socket.on('error', () => {})
    socket.on('close', () => resolve(received))
    socket.end(Buffer.from(text, 'latin1'))
  })
}
