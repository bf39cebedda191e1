import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { isRoot } from '../../../lib/database/embedded/cluster-user.ts'
import {
  dataFolder,
  jsonHere,
  runForJson,
  runHere,
  runSpoor,
  serve,
  startSpoor,
  stop,
  takenPort,
  tryKey
} from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'

/** Returns the process id of the embedded PostgreSQL in a data folder; undefined if it has stopped. */
function postgresOf(folder: string): number | undefined {
  const file = join(folder, 'postgres', 'data', 'postmaster.pid')
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : undefined
}

/**
 * Starts collecting the command lines of all processes on this machine. The returned function stops collecting, and
 * returns the collected lines.
 */
function collectTitles(): () => string {
  let titles = ''
  const look = () => {
    titles += execFileSync('ps', ['-A', '-o', 'args=']).toString()
  }
  const timer = setInterval(look, 100)
  return () => {
    clearInterval(timer)
    look()
    return titles
  }
}

t.test('the life of a data folder: first start, concurrent commands, second start, kill -9', async t => {
  const folder = await dataFolder(t)
  const env = { DATA_DIR: folder, KEY_DIGEST_SECRET: 'a digest secret for titles' }
  const titles = collectTitles()

  const first = await startSpoor(t, env)
  const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(first.out)!
  const [key, ...more] = new Set(first.out.match(/spoor_live_[0-9A-Za-z]{16}_[0-9A-Za-z]{43}/g))
  t.same(more, [], 'one key is printed')
  t.equal(await tryKey(address, key!), 200)
  t.match(first.out, `Data: embedded PostgreSQL in ${folder}`)
  t.match(first.out, `DATA_DIR='${folder}' node build/bin/spoor.js key create --project default`)
  t.match(first.out, /\nReady\..*\n$/)
  t.notMatch(first.err, key!, 'the log never contains it')
  t.equal((await stat(folder)).mode & 0o777, isRoot() ? 0o710 : 0o700)
  t.equal((await stat(join(folder, 'server.json'))).mode & 0o777, 0o600)

  const body = /-d '([^']*)'/.exec(first.out)![1]!
  const headers = { authorization: `Bearer ${key}` }
  const recorded = await fetch(`${address}/api/v1/traces`, { method: 'POST', headers, body })
  t.equal(recorded.status, 201, 'the printed curl command records a trace')
  const { traceId } = (await recorded.json()) as { traceId: string }
  t.ok(first.out.includes(`${address}/api/v1/traces/${traceId}`), 'and the second command reads it')

  const second = await runSpoor(['serve'], env)
  t.match(second, { code: 1, out: '', err: `${first.pid}` }, 'a second server names the process that holds the folder')
  t.match(second.err, /^spoor: [^\n]+\n$/)

  const made = await runForJson(['key', 'create', '--project', 'default'], env)
  t.equal(await tryKey(address, made.key), 200, 'a key created by a command works at once')
  await jsonHere(['key', 'revoke', made.keyId], env)
  // The notification reaches the server a moment later.
  await until(async () => (await tryKey(address, made.key)) === 401)
  t.match(await jsonHere(['status'], env), { server: { address, pid: first.pid }, problems: [] })

  const seen = titles()
  t.match(seen, /spoor\.js serve\n[\s\S]*postgres: spoor postgres \[local\]/)
  t.match(seen, 'spoor.js key create')
  const password = readFileSync(join(folder, 'database-password'), 'utf8').trim()
  const secrets = [key!, made.key].map(each => each.split('_').at(-1)!)
  for (const secret of [...secrets, password, env.KEY_DIGEST_SECRET]) {
    t.notOk(seen.includes(secret), 'no process title contains a secret')
  }

  const { code, out, err } = await stop(first, 'SIGINT')
  t.match({ code, err }, { code: 0, err: '' })
  t.equal(out.split(key!).length, first.out.split(key!).length, 'nothing more is printed')
  t.equal(postgresOf(folder), undefined, 'PostgreSQL has stopped')
  t.notOk(existsSync(join(folder, 'server.json')))

  const stopped = await runHere(['status', '--json'], env)
  t.equal(stopped.code, 1, 'a stopped server is reported as a problem')
  t.match(JSON.parse(stopped.out), { server: null, projects: [{ slug: 'default', traceCount: 1 }] })
  t.match(JSON.parse(stopped.out).problems, [/^No server is running: start it with `spoor serve`\. .*--no-server/])
  t.match(await jsonHere(['status', '--no-server'], env), { server: null, problems: [] })
  t.equal(postgresOf(folder), undefined, 'a command that started PostgreSQL has stopped it')

  const again = await startSpoor(t, env)
  t.notMatch(again.out, /spoor_live_/, 'the second start shows no key')
  t.match(again.out, /Create another key: [\s\S]*\nReady\./)
  const [newAddress] = /http:\/\/127\.0\.0\.1:\d+/.exec(again.out)!
  t.equal(await tryKey(newAddress, key!), 200, 'the first key still works')
  again.kill('SIGKILL')
  await again.finished

  t.match(
    await jsonHere(['status', '--no-server'], env),
    { server: null },
    'a killed server is not mistaken for a running one'
  )
  const third = await serve(t, env)
  t.equal(await tryKey(third.address, key!), 200)
  t.equal((await stop(third.serving)).code, 0)
})

t.test('a port in use fails the start with one line, and leaves nothing running', async t => {
  const folder = await dataFolder(t)
  const port = await takenPort(t)
  const result = await runSpoor(['serve'], { DATA_DIR: folder, PORT: port, LOG_LEVEL: 'silent' })
  t.match(result, { code: 1, out: '', err: port })
  t.match(result.err, /^spoor: [^\n]+\n$/)
  t.equal(postgresOf(folder), undefined)
  t.notOk(existsSync(folder), 'nothing was started')
})
