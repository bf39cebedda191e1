import { connect, createServer, type Server } from 'node:net'
import t, { type Test } from 'tap'
import { connectTo, type SocketTarget } from '../../../lib/database/connection.ts'
import { openSession } from '../../../lib/database/session/open-session.ts'
import { readTestServer, testDatabase } from '../../fixtures/database/database.ts'
import { withDatabaseAt } from '../../fixtures/database/target.ts'

const database = await testDatabase(t)
const sql = database.connect({ applicationName: 'test', statementTimeoutMs: 60_000 })
t.teardown(() => sql.end({ timeout: 1 }))
await openSession(sql)

const UUID = '0af7651916cd43dd8448eb211c80319c'

t.test('reads every type in the form of responses', async t => {
  const cases: [expression: string, expected: unknown][] = [
    ["timestamptz '2026-11-21T12:00:00Z'", '2026-11-21T12:00:00.000Z'],
    ["timestamptz '2026-11-21T12:00:00.1Z'", '2026-11-21T12:00:00.100Z'],
    ["timestamptz '2026-11-21T12:00:00.123Z'", '2026-11-21T12:00:00.123Z'],
    ["timestamptz '2026-11-21T12:00:00.1234Z'", '2026-11-21T12:00:00.123400Z'],
    ["timestamptz '2026-11-21T12:00:00.000001+02'", '2026-11-21T10:00:00.000001Z'],
    ["timestamptz '0001-01-01T00:00:00Z'", '0001-01-01T00:00:00.000Z'],
    ["timestamptz '9999-12-31T23:59:59.999999Z'", '9999-12-31T23:59:59.999999Z'],
    ["array[timestamptz '2026-11-21T12:00:00.5Z', null]", ['2026-11-21T12:00:00.500Z', null]],
    ['9007199254740991::int8', 9007199254740991],
    ['(-1)::int8', -1],
    ['count(*)', 1],
    ['array[1, 2]::int8[]', [1, 2]],
    ['1.5::float8', 1.5],
    [`'{"b": 1.0, "a":1e400}'::json`, '{"b": 1.0, "a":1e400}'],
    [`'null'::json`, 'null'],
    [`'{"a":1}'::jsonb`, '{"a": 1}'],
    [`array['"a\\"b"', '[1]']::json[]`, ['"a\\"b"', '[1]']],
    [`'\\x00FF0a'::bytea`, '00ff0a'],
    [`''::bytea`, ''],
    [`array['\\x0a', '\\xff']::bytea[]`, ['0a', 'ff']],
    [`'0AF76519-16CD-43DD-8448-EB211C80319C'::uuid`, UUID],
    [`array['${UUID}']::uuid[]`, [UUID]],
    [`array['a', 'b,"c"', '', null, 'NULL', 'é', E'\\\\\n']::text[]`, ['a', 'b,"c"', '', null, 'NULL', 'é', '\\\n']],
    ['array[null]::text[]', [null]],
    ['array[]::text[]', []],
    ['array[true, false, null]', [true, false, null]],
    ['array[1.5, null]::float8[]', [1.5, null]],
    ['true', true],
    ['null::json', null],
    ['null::timestamptz', null]
  ]
  for (const [expression, expected] of cases) {
    const [row] = await sql.unsafe(`select ${expression} as value`)
    t.strictSame(row?.value, expected, expression)
  }
})

t.test('accepts parameters in the form in which it reads them', async t => {
  const cases: [type: string, value: unknown, expected?: unknown][] = [
    ['timestamptz', '2026-11-21T12:00:00.123456Z'],
    ['timestamptz', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['timestamptz[]', ['2026-11-21T12:00:00.100Z', null]],
    ['int8', 9007199254740991],
    ['int8', 2n ** 53n - 1n, 9007199254740991],
    ['int8[]', [1, 2]],
    ['json', '{"\\u0000": "\\ud800", "a":1e400}'],
    ['json', '"text"'],
    ['json', { a: [1] }, '{"a":[1]}'],
    ['json[]', ['{"a":"b\\"\\\\"}']],
    ['jsonb', '"text"'],
    ['bytea', '00ff0a'],
    ['bytea', Buffer.from([0, 255]), '00ff'],
    ['bytea[]', ['00', 'ff']],
    ['uuid', UUID],
    ['uuid[]', [UUID]],
    ['text[]', ['a', 'b,"c"', '', null, 'NULL', '\\"', ' ', '{}', 'null']],
    ['text[]', []],
    ['text[]', '{a,"b"}', ['a', 'b']],
    ['int4[]', [1, null]],
    ['float8[]', [1.5, Number.NaN, Number.POSITIVE_INFINITY]],
    ['bool', true],
    ['text', null]
  ]
  for (const [type, value, expected = value] of cases) {
    const [row] = await sql`select ${value as string}::${sql.unsafe(type)} as value`
    t.strictSame(row?.value, expected, `${type} ${JSON.stringify(expected)}`)
  }
})

t.test('sends null in arrays as null', async t => {
  const rows =
    await sql`select * from unnest(${['a', null, 'NULL']}::text[], ${[null, '{}', null]}::json[]) as u (name, value)`
  t.strictSame(
    rows.map(row => [row.name, row.value]),
    [
      ['a', null],
      [null, '{}'],
      ['NULL', null]
    ]
  )
})

t.test('opens one connection, in UTC, with its name and time limit', async t => {
  const [row] = await sql`
    select current_setting('TimeZone') as zone, current_setting('statement_timeout') as timeout,
      current_setting('application_name') as name`
  t.strictSame({ ...row }, { zone: 'UTC', timeout: '1min', name: `spoor[${process.pid}/1] test` })
  const pids = await Promise.all([1, 2, 3].map(async () => (await sql`select pg_backend_pid() as pid`)[0]?.pid))
  t.equal(new Set(pids).size, 1)
})

t.test('reports when the connection has closed', async t => {
  const { promise, resolve } = signal()
  const other = database.connect({ onClose: resolve })
  const [row] = await other`select pg_backend_pid() as pid`
  await sql`select pg_terminate_backend(${row?.pid}::int)`
  await promise
  await other.end({ timeout: 0 })
  t.pass('onClose was called')
})

t.test('connects to a server over TCP without delay', async t => {
  const { url } = await addressOf(t)
  const other = connectTo(url)
  t.teardown(() => other.end({ timeout: 1 }))
  const began = process.hrtime.bigint()
  for (let i = 0; i < 20; i++) await other`select ${'x'.repeat(100_000)}::text as value`
  t.comment(`20 round trips of 100 kB in ${Number(process.hrtime.bigint() - began) / 1e6} ms`)
  const [row] = await other`select current_database() as name`
  t.equal(row?.name, 'postgres')
  const [moved] = await use(t, withDatabaseAt(url, 'template1'))`select current_database() as name`
  t.equal(moved?.name, 'template1')
})

function use(t: Test, target: string | SocketTarget) {
  const sql = connectTo(target)
  t.teardown(() => sql.end({ timeout: 1 }))
  return sql
}

/** Returns a TCP address of the test server. If the server listens only on a Unix socket, a relay is started. */
async function addressOf(t: Test): Promise<{ url: string }> {
  const { target } = readTestServer()
  if (typeof target === 'string') return { url: withDatabaseAt(target, 'postgres') as string }
  const server: Server = createServer(client => {
    const backend = connect(`${target.socketDir}/.s.PGSQL.${target.port}`)
    client.pipe(backend).pipe(client)
    client.on('error', () => backend.destroy())
    backend.on('error', () => client.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  return { url: `postgres://${target.user}:${target.password}@127.0.0.1:${port}/${target.database}` }
}

function signal() {
  let resolve = () => {}
  const promise = new Promise<void>(done => {
    resolve = done
  })
  return { promise, resolve }
}
