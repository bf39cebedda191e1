import t, { type Test } from 'tap'
import { CopyConnection } from '../../../lib/database/copy-connection.ts'
import { classifyFailure } from '../../../lib/database/failure.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { testRelay } from '../../fixtures/database/relay.ts'

const database = await testDatabase(t)
await database.pool.run(sql => sql`create table notes (id int primary key)`)
const stored = () => database.pool.run(async sql => (await sql`select id from notes order by id`).map(({ id }) => id))
t.beforeEach(() => database.pool.run(sql => sql`truncate notes`))

async function open(t: Test, connect = database.connect, options = {}): Promise<CopyConnection> {
  const connection = await CopyConnection.open(connect, options)
  t.teardown(() => connection.close())
  return connection
}

function message(type: string, content: Uint8Array): Buffer {
  const head = Buffer.from(`${type}....`)
  head.writeInt32BE(4 + content.length, 1)
  return Buffer.concat([head, content])
}
/** A simple query. PostgreSQL runs it as one transaction unless the query begins a transaction itself. */
const query = (text: string) => message('Q', Buffer.from(`${text}\0`))
/** A COPY of ids in text format, followed immediately by the rows. */
const copy = (...ids: number[]) =>
  Buffer.concat([
    query('copy notes from stdin'),
    message('d', Buffer.from(ids.map(id => `${id}\n`).join(''))),
    message('c', Buffer.alloc(0))
  ])

t.test('statements and rows are sent together, and are stored once the server has responded', async t => {
  const connection = await open(t)
  await connection.send(query('insert into notes values (1)'))
  await connection.send(Buffer.concat([query('begin'), copy(2, 3), query('insert into notes values (4); commit')]), 3)
  t.strictSame(await stored(), [1, 2, 3, 4])
  const many = Array.from({ length: 100_000 }, (_, i) => i + 10)
  await connection.send(copy(...many))
  t.equal((await stored()).length, 4 + many.length)
})

t.test('a rejected batch stores nothing and reports the first error, and the connection continues', async t => {
  const connection = await open(t)
  const refused: [Buffer, number, { code: string; message?: RegExp; name?: string; severity?: string }][] = [
    [query('insert into notes values (1), (1)'), 1, { code: '23505', name: 'PostgresError', severity: 'ERROR' }],
    [copy(5, 6, 5), 1, { code: '23505' }],
    [
      Buffer.concat([query('begin; insert into notes values (7)'), query('select 1 / 0'), query('commit')]),
      3,
      { code: '22012' }
    ],
    [Buffer.concat([query('begin'), copy(8, 8), query('insert into notes values (9)')]), 3, { code: '23505' }],
    [query('nonsense'), 1, { code: '42601', message: /syntax error/ }]
  ]
  for (const [messages, answers, error] of refused) await t.rejects(connection.send(messages, answers), error)
  t.notOk(connection.isDead)
  t.strictSame(await stored(), [])
  await connection.send(query('insert into notes values (1)'))
  t.strictSame(await stored(), [1])
})

t.test('accepts one batch at a time', async t => {
  const connection = await open(t)
  const first = connection.send(query('insert into notes values (1)'))
  await t.rejects(connection.send(query('select 1')), { message: 'a batch is already in flight' })
  await first
})

t.test(
  'a server that closes the connection gives the reason, and the connection is then permanently unusable',
  async t => {
    const connection = await open(t)
    const ended = connection.send(query('select pg_terminate_backend(pg_backend_pid())'))
    await t.rejects(ended, { code: '57P01' })
    t.ok(connection.isDead)
    await t.rejects(connection.send(query('select 1')), { code: 'CONNECTION_CLOSED' })
  }
)

t.test('a broken connection leaves the outcome unknown', async t => {
  const relay = await testRelay(t, database.target)
  const connection = await open(t, relay.connect)
  const lost = connection.send(query('select pg_sleep(60)')).catch(error => error)
  relay.cut()
  t.equal(classifyFailure(await lost), 'lost')
  t.ok(connection.isDead)
  const error = await CopyConnection.open(relay.connect, {}).catch(error => error)
  t.match(error, { code: 'NOT_CONNECTED' }, 'while it is unreachable, none can be opened')
})

t.test('has the settings with which it was opened', async t => {
  const connection = await open(t, database.connect, { settings: { lock_timeout: '1ms' } })
  await database.pool.run(sql =>
    sql.begin(async sql => {
      await sql`lock table notes`
      await t.rejects(connection.send(query('insert into notes values (1)')), { code: '55P03' })
    })
  )
})
