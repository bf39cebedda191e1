/** Tests commands that read and change recorded data, with a key against a server, and next to the database. */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readValue } from '../../bin/commands/score.ts'
import { queryOf } from '../../bin/commands/traces/conditions.ts'
import { ingestBody, span, spanId, startBody, traceId } from '../fixtures/bodies/bodies.ts'
import { testDatabase } from '../fixtures/database/database.ts'
import { testFolder } from '../fixtures/folder.ts'
import { freePort } from '../fixtures/ports.ts'
import { type TestService, testService } from '../fixtures/service/service.ts'
import { configurationFor, jsonHere, runHere, runSpoor, serve, start, stop } from '../fixtures/service/spoor.ts'
import { until } from '../fixtures/until.ts'

interface Place {
  readonly service: TestService
  /** The environment for a server, and for the database. */
  readonly env: NodeJS.ProcessEnv
  readonly beside: NodeJS.ProcessEnv
  record(over?: object): Promise<string>
}

async function place(t: Test): Promise<Place> {
  const service = await testService(t)
  const record = async (over: object = {}) => {
    const body = ingestBody({ endedAt: at(9), ...over })
    const { status, body: answer } = await service.call('POST', '/api/v1/traces', { body })
    if (status !== 201) throw new Error(answer.error.message)
    return body.trace.id
  }
  const env = { SPOOR_URL: service.url, SPOOR_API_KEY: service.key }
  return { service, env, beside: configurationFor(service.database), record }
}

t.test('both modes list, show and score the same traces', async t => {
  const { service, env, beside, record } = await place(t)
  const failing = span({ name: 'search', status: 'error', kind: 'tool', attributes: { 'error.type': 'Timeout' } })
  const id = await record({ name: 'a', status: 'error', userId: 'u', spans: [failing], startedAt: at(0) })
  await record({ name: 'b', tags: ['x'], startedAt: at(1), input: { big: 1 } })
  await record({ name: 'c', sessionId: 's', model: 'm', startedAt: at(2), costUsd: 0.5 })
  const added = await jsonHere(['score', 'add', id, 'good', 'false', '--comment', 'no'], env)
  t.match(added, { ok: true, score: { traceId: id, name: 'good', value: false, dataType: 'boolean', comment: 'no' } })
  t.match(
    await runHere(['score', 'add', id, 'depth', '--step', failing.id, '--project', 'default', '--', '-1.5'], beside),
    {
      out: `added score depth = -1.5 (numeric) to trace ${id}\n`
    }
  )

  const both = async (args: string[]) => {
    const asked = await runHere(args, env)
    t.match(asked, { code: 0, err: '' }, args.join(' '))
    t.same(await runHere([...args, '--project', 'default'], beside), asked, args.join(' '))
    return asked.out
  }
  const names = async (...args: string[]): Promise<string[]> =>
    JSON.parse(await both(['trace', 'list', '--json', ...args])).map(({ name }: { name: string }) => name)
  const lists: [string[], string[]][] = [
    [[], ['c', 'b', 'a']],
    [
      ['--limit', '2'],
      ['c', 'b']
    ],
    [['--status', 'error'], ['a']],
    [['--name', 'b'], ['b']],
    [['--tag', 'x'], ['b']],
    [['--model', 'm'], ['c']],
    [['--session', 's'], ['c']],
    [['--user', 'u'], ['a']],
    [
      ['--environment', 'Unassigned'],
      ['c', 'b', 'a']
    ],
    [['--environment', 'staging'], []],
    [
      ['--since', at(1)],
      ['c', 'b']
    ],
    [['--from', at(1), '--to', at(1)], ['b']],
    [['--before', at(1)], ['a']],
    [['--before', at(1), '--to', at(2)], ['a']],
    [
      ['--since', '2026-11-21', '--to', '2026-11-21'],
      ['c', 'b', 'a']
    ],
    [['--since', '1h'], []],
    [['--sort', 'costliest'], ['c']]
  ]
  for (const [args, expected] of lists) t.same(await names(...args), expected, args.join(' '))
  const lines = (await both(['trace', 'list', '--ndjson'])).trimEnd().split('\n')
  const { body } = await service.call('GET', '/api/v1/traces')
  t.same(
    lines.map(line => JSON.parse(line)),
    body.traces
  )
  t.match(
    await both(['trace', 'list']),
    /^TRACE +STARTED \(UTC\) +NAME[^\n]*\n[0-9a-f]{32} +11-21 12:00:02 +c +unset[^\n]+\n/m
  )
  t.match(await both(['trace', 'list', '--limit', '1']), /More traces follow: --limit 4 shows more\.\n$/)
  t.equal(await both(['trace', 'list', '--tag', 'none']), 'No traces found.\n')

  const detail = await service.call('GET', `/api/v1/traces/${id}`)
  t.equal(await both(['trace', 'show', id, '--json']), `${detail.text}\n`, 'as the API returns it')
  const text = await both(['trace', 'show', id.toUpperCase(), '--texts'])
  t.match(text, new RegExp(`Failed: search \\(tool, ${failing.id}\\)[^\n]*\n  Timeout\n`))
  t.match(text, /✗ search[^\n]*\n {3}attributes\n/)
  t.match(text, /SCORE +VALUE +CREATED/)

  t.equal(JSON.parse(await both(['score', 'list', '--json'])).length, 2)
  t.match(JSON.parse(await both(['score', 'list', '--name', 'depth', '--json'])), [{ value: -1.5, spanId: failing.id }])
  t.match(JSON.parse(await both(['score', 'list', '--trace', id, '--name', 'good', '--json'])), [{ value: false }])
  t.match(await both(['score', 'list', '--before', '1h']), /No scores found/)
  t.match(await both(['trace', 'tail', '--limit', '2']), /^[0-9a-f]{32} .* b\n[0-9a-f]{32} .* c {2}m {2}\$0\.50\n$/)
  const tailed = JSON.parse(await both(['trace', 'tail', '--json']))
  t.same(
    tailed.map(({ name }: { name: string }) => name),
    ['a', 'b', 'c']
  )
})

const at = (second: number) => `2026-11-21T12:00:0${second}.000Z`

t.test('long lists are read page by page', async t => {
  const { env, beside, record } = await place(t)
  for (let n = 0; n < 205; n++) await record()
  for (const [args, count] of [
    [['--limit', '204'], 204],
    [['--limit', '1000'], 205]
  ] as const) {
    t.equal((await jsonHere(['trace', 'list', ...args], env)).length, count)
    t.equal((await jsonHere(['trace', 'list', '--project', 'default', ...args], beside)).length, count)
  }
})

t.test('numbers and large values of a trace are returned exactly as sent', async t => {
  const { service, env, beside } = await place(t)
  const id = traceId()
  const head = `{"schemaVersion":1,"trace":{"id":"${id}","name":"n","startedAt":"${at(0)}","endedAt":"${at(1)}"`
  const input = `{"n":12345678901234567890,"f":1.0,"text":"\u202e\u009b${'x'.repeat(300_000)}"}`
  await service.call('POST', '/api/v1/traces', { body: `${head},"input":${input}}}` })
  for (const [more, from] of [
    [[], env],
    [['--project', 'default'], beside]
  ] as const) {
    const json = await runHere(['trace', 'show', id, '--json', ...more], from)
    t.ok(json.out.includes('"n":12345678901234567890,"f":1.0,"text":"\\u202e\\u009bx'))
    const text = await runHere(['trace', 'show', id, '--texts', ...more], from)
    t.match(text.out, /"n": 12345678901234567890,\n +"f": 1\.0,\n +"text": "\\u202e\\u009bx/)
  }
})

t.test('trace delete deletes a trace by its id only with --apply', async t => {
  const { service, env, beside, record } = await place(t)
  for (const [more, from] of [
    [[], env],
    [['--project', 'default'], beside]
  ] as const) {
    const id = await record()
    t.match(await runHere(['trace', 'delete', id, ...more], from), {
      code: 0,
      out: `trace ${id} (run, with 0 spans) selected. Nothing was changed. Add --apply to delete it.\n`
    })
    t.equal((await service.call('GET', `/api/v1/traces/${id}`)).status, 200)
    t.same(await jsonHere(['trace', 'delete', id, '--apply', ...more], from), { traceId: id, applied: true })
    t.equal((await service.call('GET', `/api/v1/traces/${id}`)).status, 404)
    t.match(await runHere(['trace', 'delete', id, '--apply', ...more], from), { code: 1, err: /no such trace/ })
  }
  const entries = await jsonHere(['audit', '--project', 'default'], beside)
  const deletions = entries.filter(({ action }: { action: string }) => action === 'trace.delete')
  t.match(deletions, [{ by: /^key / }, { by: /^command \(/ }])
  t.notOk(Object.hasOwn(deletions[1].detail, 'keyId'))
})

t.test('whoami describes the key', async t => {
  const { service, env } = await place(t)
  const { key, keyId } = await service.makeKey({ scopes: ['traces:write'], environment: 'staging', expiresInDays: 30 })
  t.match(await jsonHere(['key', 'whoami'], env), { key: { projectId: /^\d+$/ }, project: { slug: 'default' } })
  t.match(await runHere(['key', 'whoami'], env), { out: /^key +\S{16}\nscopes +traces:write, traces:read/ })
  t.match(await jsonHere(['key', 'whoami', '--key', key], env), {
    key: { keyId, scopes: ['traces:write'] },
    project: null
  })
  t.match(await runHere(['key', 'whoami', '--key', key], env), {
    out: /environment +staging\nexpires +in 30 days\nproject +\d+\n$/
  })
})

t.test('each error is one line on stderr, with an exit code', async t => {
  const { service, env, beside, record } = await place(t)
  const id = await record()
  const { key: writer } = await service.makeKey({ scopes: ['traces:write'] })
  const other = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  const wrong: [string[], number, RegExp, NodeJS.ProcessEnv?][] = [
    [['trace', 'list'], 1, /API key required: set SPOOR_API_KEY, pass --key, or use .* --project/, {}],
    [['trace', 'list', '--key', 'x'.repeat(40)], 1, /rejects the key from --key: /],
    [['trace', 'list'], 1, /rejects the key from SPOOR_API_KEY: /, { ...env, SPOOR_API_KEY: 'wrong' }],
    [['trace', 'list', '--key', writer], 1, /the key from --key does not allow this: .*traces:read/],
    [
      ['trace', 'list', '--url', 'http://127.0.0.1:1'],
      1,
      /cannot reach a server at http:\/\/127\.0\.0\.1:1 \(.*--url is correct/
    ],
    [['trace', 'list', '--url', elsewhere], 1, /returned HTTP 200, but the response is not from spoor/],
    [['trace', 'list', '--url', 'ftp://x'], 1, /must begin with http/],
    [['trace', 'list', '--project', 'default', '--key', 'k'], 2, /--project cannot be combined with --url or --key/],
    [['trace', 'list', '--project', 'none'], 1, /no project "none"/, beside],
    [['trace', 'list', '--sort', 'oldest'], 2, /--sort must be one of newest, slowest, costliest/],
    [['trace', 'list', '--limit', '0'], 2, /--limit must be from 1 to 100,000, not "0"/],
    [['trace', 'list', '--limit', '1e3'], 2, /--limit must be/],
    [['trace', 'list', '--since', 'soon'], 2, /--since must be an ISO 8601 date or time/],
    [['trace', 'list', '--status', 'bad'], 2, /--status must be one of/],
    [['trace', 'list', '--environment', 'a b'], 2, /environment "a b" must be/],
    [['trace', 'list', '--json', '--ndjson'], 2, /--json and --ndjson cannot be combined/],
    [['trace', 'show'], 2, /TRACE is missing; usage: spoor trace show TRACE/],
    [['trace', 'show', 'abc'], 2, /TRACE must be 32 hexadecimal digits, not "abc"/],
    [['trace', 'show', traceId()], 1, /^spoor: There is no such trace in this project\.\n$/],
    [
      ['trace', 'show', traceId(), '--project', 'default'],
      1,
      /^spoor: There is no such trace in this project\.\n$/,
      beside
    ],
    [['trace', 'tail', '-f', '--json'], 2, /--follow never ends/],
    [['trace', 'tail', '-x'], 2, /no flag "-x"/],
    [['trace', 'delete', id, '--name', 'x'], 2, /TRACE cannot be combined with conditions/],
    [['trace', 'delete', '--apply'], 2, /specify TRACE or a condition/],
    [['score', 'list', '--trace', id, '--since', '1d'], 2, /--trace can be combined only with --name and --limit/],
    [['score', 'list', '--name', ''], 2, /--name must not be empty/],
    [['score', 'add', id, 'n'], 2, /VALUE is missing/],
    [['score', 'add', id, 'n', 'yes', '--type', 'boolean'], 2, /VALUE must be true or false, not "yes"/],
    [['score', 'add', id, 'n', 'x', '--type', 'numeric'], 2, /VALUE must be a number/],
    [['score', 'add', id, 'n', 'x', '--type', 'text'], 2, /--type must be one of numeric, categorical, boolean/],
    [['score', 'add', id, '', 'x'], 2, /name/],
    [['score', 'add', id, 'n', '1', '--step', 'x'], 2, /--step must be 16 hexadecimal digits/],
    [['score', 'add', id, 'n', '1', '--comment', 'c'.repeat(2001)], 2, /comment/],
    [['score', 'add', traceId(), 'n', '1'], 1, /no such trace/],
    [['key', 'whoami', '--project', 'default'], 2, /no flag "--project"/]
  ]
  for (const [args, code, message, from = env] of wrong) {
    const result = await runHere(args, from)
    t.match(result, { code, out: '', err: message }, args.join(' '))
    t.match(result.err, /^spoor: [^\n]+\n$/, 'in one line')
  }
})

t.test('a process follows new traces until Ctrl-C', async t => {
  const { service, env, record } = await place(t)
  await record({ name: 'before' })
  const child = start(['trace', 'tail', '-f'], env)
  let out = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    out += text
  })
  const closed = new Promise<number | null>(resolve => child.on('close', resolve))
  await until(() => out.includes('before'))
  const running = startBody({ name: 'later\u001b[2J' })
  await service.call('POST', '/api/v1/traces', { body: running })
  await until(() => out.includes('later'))
  await service.call('POST', `/api/v1/traces/${running.trace.id}/end`, {
    body: { schemaVersion: 1, endedAt: '2026-11-21T12:00:05.000Z', status: 'ok' }
  })
  await until(() => out.split('later').length === 3)
  t.match(out, /^[0-9a-f]{32} {2}12:00:00 {2}running +later\\u001b\[2J$/m)
  t.match(out, /^[0-9a-f]{32} {2}12:00:00 {2}ok {8,}5\.00 s {2}later\\u001b\[2J$/m)
  t.equal(out.split('before').length, 2, 'unchanged traces are not repeated')
  child.kill('SIGINT')
  t.equal(await closed, 0)
})

t.test('following shows old traces that arrive now, and only those that meet the conditions', async t => {
  const { service, env, record } = await place(t)
  const old = await record({ name: 'old' })
  const child = start(['trace', 'tail', '-f', '--step', 'search', '--ndjson', '--environment', 'unassigned'], env)
  const failing = start(['trace', 'tail', '-f', '--errors', '--ndjson', '--limit', '1'], env)
  const shown: string[] = []
  let failed = ''
  child.stdout.setEncoding('utf8').on('data', text => shown.push(...text.trim().split('\n')))
  failing.stdout.setEncoding('utf8').on('data', text => {
    failed += text
  })
  const spans = [span({ name: 'search', status: 'error' })]
  await until(async () => {
    await record({ name: 'late', startedAt: '2020-01-01T00:00:00Z', endedAt: '2020-01-01T00:00:01Z', spans })
    return shown.length > 0 && failed !== ''
  })
  await service.call('POST', `/api/v1/traces/${old}/scores`, { body: { name: 'q', dataType: 'numeric', value: 1 } })
  const last = await record({ name: 'last', spans })
  await until(() => shown.some(line => line.includes(last)) && failed.includes(last))
  for (const line of shown) t.match(JSON.parse(line), { name: /^(late|last)$/ })
  for (const each of [child, failing]) each.kill('SIGINT')
})

t.test('following continues after an outage of the server', async t => {
  const database = await testDatabase(t)
  const PORT = String(await freePort())
  const beside = { ...configurationFor(database), PORT }
  const first = await serve(t, beside)
  const env = { SPOOR_URL: first.address, SPOOR_API_KEY: first.key! }
  const child = start(['trace', 'tail', '--follow', '--ndjson'], env)
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    err += text
  })
  const closed = new Promise<number | null>(resolve => child.on('close', resolve))
  const record = (body: object) =>
    fetch(`${env.SPOOR_URL}/api/v1/traces`, {
      method: 'POST',
      headers: { authorization: `Bearer ${env.SPOOR_API_KEY}` },
      body: JSON.stringify(body)
    })
  await until(async () => {
    await record(ingestBody({ name: 'first' }))
    return out.includes('first')
  })
  await stop(first.serving)
  await until(() => err.includes('cannot reach a server at'))
  await serve(t, beside)
  await until(async () => {
    await record(ingestBody({ name: 'second' }))
    return out.includes('second')
  })
  child.kill('SIGTERM')
  t.equal(await closed, 0)
  for (const line of out.trimEnd().split('\n')) t.match(JSON.parse(line), { id: /^[0-9a-f]{32}$/ })
})

t.test('a trace that is too long for one string is read in both modes', async t => {
  const { service, env, beside } = await place(t)
  const body = startBody()
  await service.call('POST', '/api/v1/traces', { body })
  for (let n = 0; n < 7; n++) {
    const spans = [0, 1].map(() => span({ input: `${'é'.repeat(300_000)}`, name: `step ${n}` }))
    await service.call('POST', `/api/v1/traces/${body.trace.id}/spans`, { body: { schemaVersion: 1, spans } })
  }
  const asked = await runHere(['trace', 'show', body.trace.id, '--json'], env)
  t.equal(JSON.parse(asked.out).spans.length, 14)
  t.same(await runHere(['trace', 'show', body.trace.id, '--json', '--project', 'default'], beside), asked)
})

t.test('evaluate, export and trace delete select the traces that trace list shows', async t => {
  const { service, env, beside, record } = await place(t)
  const failing = span({ status: 'error' })
  await record({ name: 'a', userId: 'u', model: 'm', startedAt: at(0), status: 'ok', spans: [failing] })
  await record({ name: 'b', userId: 'u', sessionId: 's', startedAt: at(1), status: 'error' })
  await record({ name: 'c', tags: ['x'], startedAt: at(2) })
  const project = ['--project', 'default']
  /** Returns the number of traces that a new evaluator judges. */
  const judgedBy = async (name: string, conditions: readonly string[]): Promise<number> => {
    const id = conditions.join('').replaceAll(/[^a-z0-9]/gi, '-')
    // Node loads a module only once, so each evaluator has its own file.
    const file = join(await testFolder(t), 'evaluator.mjs')
    await writeFile(file, `export default { id: '${id}', name: '${name}', dataType: 'numeric', evaluate: () => 1 }`)
    const { evaluators } = await jsonHere(['evaluate', file, ...project, ...conditions], beside)
    return evaluators[0].judged
  }
  const selections = [
    ['--user', 'u'],
    ['--session', 's'],
    ['--model', 'm'],
    ['--errors'],
    ['--tag', 'x'],
    ['--since', at(1)],
    ['--to', at(1)],
    ['--from', at(1), '--before', at(2)],
    ['--since', '2026-11-21', '--to', '2026-11-21', '--status', 'error']
  ]
  for (const conditions of selections) {
    const count = (await jsonHere(['trace', 'list', ...conditions], env)).length
    t.ok(count > 0 && count < 3, conditions.join(' '))
    t.match(await jsonHere(['trace', 'delete', ...project, ...conditions], beside), { traces: count })
    t.match(await jsonHere(['trace', 'delete', ...conditions], env), { traces: count, applied: false })
    const { out } = await runHere(['export', ...project, ...conditions], beside)
    t.equal(out.trimEnd().split('\n').length, count)
    const asked = await runHere(['export', ...conditions], env)
    t.equal(asked.out.trimEnd().split('\n').length, count)
    t.equal(await judgedBy('n', conditions), count)
  }
  // Only the search checks these conditions.
  const further = [
    ['--step', failing.name, '--step-status', 'error'],
    ['--score', 'n=1', '--user', 'u'],
    ['--tag', 'x', '--tag', 'y'],
    ['--no-cost', '--errors'],
    ['--min-cost', '1']
  ]
  await record({ name: 'd', tags: ['x', 'y'], startedAt: at(3), costUsd: 2 })
  const idsOf = (lines: string) =>
    lines
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line).trace.id)
      .sort()
  for (const conditions of further) {
    const listed = await jsonHere(['trace', 'list', ...conditions], env)
    const ids = listed.map(({ id }: { id: string }) => id).sort()
    t.ok(ids.length > 0 && ids.length < 4, conditions.join(' '))
    t.same(await jsonHere(['trace', 'list', ...conditions, ...project], beside), listed)
    t.same(await jsonHere(['trace', 'search', ...conditions], env).then(found => found.length), ids.length)
    t.equal((await jsonHere(['trace', 'tail', ...conditions], env)).length, ids.length)
    t.equal(await judgedBy('other', conditions), ids.length)
    for (const [more, from] of [
      [[], env],
      [project, beside]
    ] as const) {
      t.same(idsOf((await runHere(['export', ...conditions, ...more], from)).out), ids)
      const since = await runHere(['export', '--since', 'start', ...conditions, ...more], from)
      t.same(idsOf(since.out), ids)
      t.match(since.err, /next cursor: \S+/)
      t.match(await jsonHere(['trace', 'delete', ...conditions, ...more], from), { traces: ids.length, applied: false })
    }
  }
  t.match(await jsonHere(['trace', 'delete', '--tag', 'x', '--tag', 'y', '--apply'], env), { traces: 1, applied: true })
  t.match(await runHere(['trace', 'delete', '--no-cost', ...project, '--apply'], beside), { out: 'deleted 3 traces\n' })
  t.same((await service.call('GET', '/api/v1/traces')).body.traces, [])
})

t.test('a process writes JSON to a pipe without colours or a pager', async t => {
  const { env, record } = await place(t)
  const id = await record({ spans: [span({ id: spanId() })] })
  const { code, out, err } = await runSpoor(['trace', 'show', id, '--json'], { ...env, PAGER: 'false' })
  t.match({ code, err }, { code: 0, err: '' })
  t.equal(JSON.parse(out).trace.id, id)
  t.notMatch((await runSpoor(['trace', 'show', id], env)).out, '\u001b')
})

t.test("values and times are converted to the API's format", async t => {
  const values: [string, unknown][] = [
    ['0.8', { dataType: 'numeric', value: 0.8 }],
    ['-3', { dataType: 'numeric', value: -3 }],
    ['1e-3', { dataType: 'numeric', value: 0.001 }],
    ['true', { dataType: 'boolean', value: true }],
    ['True', { dataType: 'categorical', value: 'True' }],
    ['1e999', { dataType: 'categorical', value: '1e999' }],
    ['good', { dataType: 'categorical', value: 'good' }]
  ]
  for (const [text, value] of values) t.same(readValue(text), value, text)
  t.same(readValue('1', 'categorical'), { dataType: 'categorical', value: '1' })
  const before = '2026-01-01T00:00:00.000Z'
  t.match(queryOf({ before }), { to: '2025-12-31T23:59:59.999999Z' })
  t.match(queryOf({ before, to: '2025-12-31T23:59:59.999Z' }), { to: '2025-12-31T23:59:59.999Z' })
  t.match(queryOf({ before, to: '2026-01-02T00:00:00.000Z' }), { to: '2025-12-31T23:59:59.999999Z' })
})
