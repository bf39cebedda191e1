import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { databaseAt, testDatabase } from '../../fixtures/database/database.ts'
import { pgDataOf } from '../../fixtures/database/embedded.ts'
import { freePort } from '../../fixtures/ports.ts'
import { endRecovery, prolongRecovery } from '../../fixtures/recovery.ts'
import { testService } from '../../fixtures/service/service.ts'
import { configurationFor, dataFolder, runHere, serve, start, stop } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'

interface Seen {
  readonly code: number | null
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary members.
  readonly status: any
}

async function look(env: NodeJS.ProcessEnv, ...flags: string[]): Promise<Seen> {
  const { code, out, err } = await runHere(['status', '--json', ...flags], env)
  return { code, text: err, status: out === '' ? undefined : JSON.parse(out) }
}

t.test('status beside a running server', async t => {
  const database = await testDatabase(t)
  const env = { ...configurationFor(database), PORT: String(await freePort()) }
  const { address } = await serve(t, env)

  t.test("status repeats the running server's report, and adds total sizes", async t => {
    const { status } = await look(env)
    t.match(status.server, { address, ready: true, reasons: [], version: status.version })
    t.match(status.totals, { traces: 0, spans: 0, bytes: 0 })
    t.ok(status.database.bytes > 0)
  })

  t.test('a server for another database is not mistaken for this one', async t => {
    const other = { ...env, ...configurationFor(await testDatabase(t)) }
    const foreign = await look(other)
    t.match(foreign, { code: 1, status: { server: null } })
    t.match(
      foreign.status.problems.join('\n'),
      `The program at ${address} is the spoor server for another database: set`
    )
    t.equal((await look(env)).status.server.address, address)
    t.match(await runHere(['demo'], other), { code: 1, err: /no server is running|no project/ })

    const stranger = createServer((_request, response) => response.end('{"ready":true}')).listen(0, '127.0.0.1')
    t.teardown(() => stranger.close())
    await until(() => stranger.listening)
    const PORT = String((stranger.address() as AddressInfo).port)
    const { status } = await look({ ...env, PORT })
    t.equal(status.server, null, 'and neither is another program')
    t.match(status.problems.join('\n'), `The program at http://127.0.0.1:${PORT} is not spoor: set HOST and PORT`)
  })

  t.test('a server that is not configured or not running is a problem, unless none should run', async t => {
    const PORT = String(await freePort())
    const none = await look({ ...env, PORT })
    t.equal(none.code, 1)
    t.match(
      none.status.problems.join('\n'),
      `No server is running at http://127.0.0.1:${PORT}: start it with \`spoor serve\``
    )
    t.match(
      (await look({ ...env, PORT: '0' })).status.problems.join('\n'),
      /PORT is 0, so the server's address .* unknown/
    )
    const { out } = await runHere(['status', '--no-server', '--json'], { ...env, PORT })
    t.notMatch(JSON.parse(out).problems.join('\n'), /server/)

    const view = databaseAt(database.target)
    const unconfigured = await testService(t, { database, view: { ...view, digestSecret: undefined } })
    const { code, status } = await look({ ...env, PORT: String(unconfigured.port) })
    t.match({ code, server: status.server }, { code: 1, server: { address: unconfigured.url, ready: false } })
    const named = `The server at ${unconfigured.url} is not ready: not configured. See its log for what is missing.`
    t.match(status.problems.join('\n'), named)
    t.match(await runHere(['demo'], { ...env, PORT: String(unconfigured.port) }), {
      code: 1,
      err: /no server is running/
    })
  })

  t.test('totals that do not match the traces are a problem', async t => {
    await database.pool.run(
      sql => sql`insert into project_totals (project_id, slot, traces, spans, bytes)
        select id, 77, 1, 0, 0 from projects`
    )
    const named = /totals or charts of project default.*recount default --apply/
    t.match((await look(env, '--recount')).status.problems.join(), named)
    t.match(await runHere(['status', '--quiet', '--recount'], env), {
      code: 1,
      out: named,
      err: /problems? found: see above/
    })
  })

  t.test('a server that accepts no writes is a problem, with its own reasons', async t => {
    await database.pool.run(async sql => {
      await sql.unsafe('alter table scores rename to elsewhere')
    })
    await until(async () => !(await fetch(`http://127.0.0.1:${env.PORT}/readyz`)).ok)
    const { code, status } = await look(env)
    t.equal(code, 1)
    t.match(status.problems.join(), /The server at http:\S+ is not ready: /)
    t.match((await runHere(['status'], env)).out, /^! The server at/m)
  })
})

t.test('an unreachable database is reported as the problem', async t => {
  const DATABASE_URL = `postgres://nobody:secret@127.0.0.1:${await freePort()}/none`
  const { code, status } = await look({ DATABASE_URL, KEY_DIGEST_SECRET: 'a secret of sixteen', PORT: '2' })
  t.equal(code, 1)
  t.match(status, { server: null, schema: null, database: { serverVersion: null } })
  t.match(status.problems, [/^PostgreSQL at 127\.0\.0\.1.*the database cannot be reached/])
  t.notMatch(JSON.stringify(status), /secret/)
})

t.test('a recovering embedded database is reported, also by its server', async t => {
  const folder = await dataFolder(t)
  const env = { DATA_DIR: folder }
  await stop((await serve(t, env)).serving)
  await prolongRecovery(pgDataOf(folder))
  const child = start(['serve', '--json'], env)
  t.teardown(() => child.kill('SIGKILL'))
  child.stdout.resume()
  child.stderr.resume()
  await until(() => existsSync(join(folder, 'server.json')))
  const seen = await look(env)
  t.equal(seen.code, 1)
  t.match(seen.status, { server: { ready: false }, schema: null, database: { disk: { freeBytes: Number } } })
  const recovering = 'the database is starting, recovering or stopping'
  t.match(seen.status.problems.join('\n'), new RegExp(`${recovering}[\\s\\S]*is not ready: ${recovering}`))
  await endRecovery(pgDataOf(folder))
  await until(async () => (await look(env)).code === 0)
  const ended = new Promise(resolve => child.on('close', resolve))
  child.kill('SIGTERM')
  await ended
})
