/** Tests `spoor watch` with a real server, a real webhook and real commands. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ingestBody } from '../fixtures/bodies/bodies.ts'
import { testDatabase } from '../fixtures/database/database.ts'
import { testFolder } from '../fixtures/folder.ts'
import { testService } from '../fixtures/service/service.ts'
import { configurationFor, runHere, start } from '../fixtures/service/spoor.ts'
import { until } from '../fixtures/until.ts'

/** Starts a webhook that answers with `status`, and collects the bodies. */
async function testWebhook(t: Test) {
  const hook = { status: 200, bodies: [] as Record<string, unknown>[], url: '' }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (hook.status === 200) hook.bodies.push(JSON.parse(text))
    response.writeHead(hook.status).end()
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  hook.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-path`
  return hook
}

async function testProject(t: Test) {
  const database = await testDatabase(t)
  const { call } = await testService(t, { database })
  const record = async (status: 'ok' | 'error', minutesAgo = 0) => {
    const at = new Date(Date.now() - minutesAgo * 60_000 - 1000).toISOString()
    const body = ingestBody({ startedAt: at, endedAt: at, status, costUsd: 1, spans: [] })
    const { status: code } = await call('POST', '/api/v1/traces', { body })
    if (code !== 201) throw new Error(String(code))
    return body.trace.id as string
  }
  return { env: configurationFor(database), call, record }
}

const WATCH = ['watch', '--project', 'default']

t.test('a breach is reported once, again if the report fails, and when it is over', async t => {
  const { env, record, call } = await testProject(t)
  const hook = await testWebhook(t)
  const state = join(await testFolder(t), 'watch.json')
  const look = () =>
    runHere([...WATCH, '--once', '--state', state, '--when', 'errors > 0 over 15m', '--webhook', hook.url], env)
  await record('ok')
  t.match(await look(), { code: 0, out: 'errors > 0 over 15m: ok, now 0\n' })
  const failed = await record('error')
  hook.status = 500
  const refused = await look()
  t.match(refused, { code: 1, err: /the webhook at 127\.0\.0\.1:\d+ returned 500; retrying at the next check/ })
  t.notMatch(refused.err, /secret-path/)
  hook.status = 200
  t.match(await look(), { code: 1, err: /1 condition is met/ })
  t.match(await look(), { code: 1 })
  t.match(hook.bodies, [{ event: 'fired', condition: 'errors > 0 over 15m', value: 1, text: /breached, now 1/ }])
  await call('DELETE', `/api/v1/traces/${failed}`)
  t.match(await look(), { code: 0 })
  t.match(hook.bodies, [{ event: 'fired' }, { event: 'resolved', since: hook.bodies[0]?.at, text: /resolved, now 0/ }])
})

t.test('each measure is read from the API', async t => {
  const { env, record, call } = await testProject(t)
  const silent = await runHere([...WATCH, '--once', '--when', 'silence > 5m'], env)
  t.match(silent, { code: 0, out: /silence > 5m: ok, now none/ }, 'an unknown project')
  for (let n = 0; n < 4; n++) await record(n === 0 ? 'error' : 'ok', 10)
  const id = await record('ok', 10)
  const score = { name: 'quality', dataType: 'numeric', value: 0.25 }
  await call('POST', `/api/v1/traces/${id}/scores`, { body: score })
  const met = ['errors > 19% over 1h', 'cost >= 5 over 1h', 'traces < 6 over 1h', 'score quality < 0.3 over 1h']
  const unmet = ['errors > 20% over 1h', 'errors > 0 over 5m', 'tokens > 0 over 1h', 'p95 > 1s over 1h']
  const all = [...met, 'silence > 5m', ...unmet, 'silence > 15m']
  const flags = all.flatMap(text => ['--when', text])
  const { code, out } = await runHere([...WATCH, '--once', '--json', '--least-samples', '1', ...flags], env)
  t.equal(code, 1)
  t.same(
    JSON.parse(out)
      .filter(({ breached }: { breached: boolean }) => breached)
      .map(({ condition }: { condition: string }) => condition),
    [...met, 'silence > 5m']
  )
  t.match(await runHere([...WATCH, '--once', '--when', 'errors > 19% over 1h'], env), { code: 0 }, 'five are too few')
})

t.test('a command receives the notice, and a running watch reports without a restart', async t => {
  const { env, record } = await testProject(t)
  const file = join(await testFolder(t), 'notice')
  const part = `${file}.partial`
  const exec = `printf '%s ' "$SPOOR_WATCH_EVENT" > '${part}' && cat >> '${part}' && mv '${part}' '${file}'`
  const child = start([...WATCH, '--every', '5s', '--when', 'errors > 0 over 15m', '--exec', exec], env)
  const closing = once(child, 'close')
  t.teardown(() => child.kill('SIGKILL'))
  await record('error')
  const read = () => readFile(file, 'utf8').catch(() => '')
  await until(async () => (await read()) !== '')
  const [, event, json = ''] = /^(\w+) (.*)\n$/.exec(await read()) ?? []
  t.equal(event, 'fired')
  t.match(JSON.parse(json), { event: 'fired', value: 1 })
  child.kill('SIGTERM')
  await closing
  const failing = await runHere([...WATCH, '--once', '--when', 'errors > 0 over 15m', '--exec', 'exit 3'], env)
  t.match(failing, { code: 1, err: /the --exec command exited with code 3; retrying/ })
})

t.test('incorrect usage is rejected, and conditions that cannot be measured are reported', async t => {
  const { env } = await testProject(t)
  const wrong: [string[], RegExp][] = [
    [[], /--when is missing/],
    [['--when', 'errors'], /--when "errors": must be such as/],
    [['--when', 'silence > 5m', '--webhook', 'ftp://x/secret'], /--webhook must be an address that begins with http/],
    [['--when', 'silence > 5m', '--every', '1s'], /--every must be a duration from 5s to 1d/],
    [['--when', 'silence > 5m', '--least-samples', '0'], /--least-samples must be a number from 1/]
  ]
  for (const [flags, message] of wrong)
    t.match(await runHere([...WATCH, ...flags], env), { code: 2, out: '', err: message })
  const { DATABASE_URL: _, ...elsewhere } = env
  const away = ['watch', '--once', '--url', 'http://127.0.0.1:9', '--key', 'k', '--when', 'silence > 5m']
  t.match(await runHere(away, elsewhere), {
    code: 1,
    err: /silence > 5m: cannot be measured: .*\n.*could not be measured/
  })
})
