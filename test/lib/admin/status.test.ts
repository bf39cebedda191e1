import t from 'tap'
import { readStatus } from '../../../lib/admin/status.ts'
import { readConfig } from '../../../lib/config.ts'
import { VERSION } from '../../../lib/version.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { testService } from '../../fixtures/service/service.ts'

t.test('the status combines the reports of the server, the database and the projects', async t => {
  const { database, call, host, port } = await testService(t)
  const config = readConfig({ DATABASE_URL: 'postgres:///elsewhere', HOST: host, PORT: String(port) })
  const look = (recounts = true) => database.pool.run(sql => readStatus(config, database, sql, { recounts }))
  const body = ingestBody()
  t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  const status = await look()
  t.match(status, {
    version: VERSION,
    server: { address: `http://${host}:${port}`, pid: undefined, version: VERSION, ready: true, reasons: [] },
    database: { embedded: false, isStandby: false, disk: null },
    schema: { state: 'current' },
    totals: { traces: 1, spans: 0 }
  })
  t.ok((status.database.bytes ?? 0) > 1e6)
  t.notMatch(status.problems.join('\n'), /totals|not ready|lacks/)

  await database.pool.run(sql => sql`update project_totals set spans = spans + 1`)
  t.match((await look()).problems.join('\n'), /totals or charts of project default do not match its traces/)
  t.notMatch((await look(false)).problems.join('\n'), /totals/, 'a light status recounts nothing')
  await database.pool.run(sql => sql`update project_totals set spans = spans - 1`)
  await database.pool.run(sql => sql`update traces set span_count = 3`)
  t.match((await look()).problems.join('\n'), /Some traces in project default have wrong span or error counts/)
})

t.test('a server of another version is a problem', async t => {
  const { database, host, port, app } = await testService(t, {
    plugins: [
      app =>
        app.route({
          method: 'GET',
          path: '/older/readyz',
          access: 'public',
          summary: 'What an older server says',
          replies: {},
          handler: () => ({ body: { ready: true, reasons: [], version: '0.9.0', instance: app.instance() } })
        })
    ]
  })
  t.type(app.instance(), 'string')
  const config = readConfig({ DATABASE_URL: 'postgres:///elsewhere', HOST: host, PORT: String(port) })
  // The port becomes part of the address unchanged, so a path after it leads to a response like an older server's.
  const older = { ...config, port: `${port}/older` as unknown as number }
  const { problems } = await database.pool.run(sql => readStatus(older, database, sql))
  t.match(problems.join('\n'), `The server runs spoor 0.9.0, but this command is ${VERSION}.`)
})
