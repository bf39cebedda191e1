import type { Socket } from 'node:net'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Sql } from 'postgres'
import t, { type Test } from 'tap'
import { classifyFailure } from '../../../lib/database/failure.ts'
import { Pool } from '../../../lib/database/pool.ts'
import { ConnectionLimit } from '../../../lib/database/pooled/connection-limit.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { testRelay } from '../../fixtures/database/relay.ts'

const database = await testDatabase(t)
const admin = database.connect({ applicationName: 'admin' })
t.teardown(() => admin.end({ timeout: 1 }))
await admin`create table notes (id int primary key)`

function makePool(t: Test, size: number, maxWaiting?: number): Pool {
  const pool = new Pool(onClose => database.connect({ onClose }), {
    size,
    ...(maxWaiting !== undefined && { maxWaiting })
  })
  t.teardown(() => pool.end())
  return pool
}

async function readPid(sql: Sql): Promise<number> {
  const [row] = await sql`select pg_backend_pid() as pid`
  return row?.pid
}

/** Terminates a backend. Resolves when it has ended. */
async function terminate(pid: number): Promise<void> {
  await admin`select pg_terminate_backend(${pid}::int, 10000)`
}

async function emptyNotes(): Promise<void> {
  await admin`truncate notes`
}

async function readNotes(): Promise<number[]> {
  return (await admin`select id from notes order by id`).map(row => row.id)
}

const addNote = (id: number) => (sql: Sql) => sql`insert into notes values (${id})`

t.test('reuses one connection, and opens no more than its size', async t => {
  const pool = makePool(t, 2)
  const alone = [await pool.run(readPid), await pool.run(readPid)]
  t.equal(new Set(alone).size, 1)
  const slowly = async (sql: Sql) => {
    await sql`select pg_sleep(0.1)`
    return readPid(sql)
  }
  const together = await Promise.all([1, 2, 3, 4, 5].map(() => pool.run(slowly)))
  t.equal(new Set(together).size, 2)
})

t.test("passes on a query's error, and keeps the connection", async t => {
  const pool = makePool(t, 1)
  const before = await pool.run(readPid)
  await t.rejects(
    pool.run(sql => sql`select 1 / 0`),
    { code: '22012' }
  )
  t.equal(await pool.run(readPid), before)
})

t.test('rows of a query that fails half-way do not appear in the next result', async t => {
  const pool = makePool(t, 1)
  await t.rejects(
    pool.run(sql => sql`select 1 / (3 - n) as n from generate_series(1, 5) as n`),
    { code: '22012' }
  )
  t.same(await pool.run(sql => sql`select 7 as n`), [{ n: 7 }])
  await t.rejects(pool.transaction(sql => sql`select 1 / (3 - n) as n from generate_series(1, 5) as n`))
  t.same(await pool.run(sql => sql`select 7 as n`), [{ n: 7 }])
})

t.test('rejects work when the queue is full', async t => {
  const pool = makePool(t, 1, 1)
  const first = pool.run(sql => sql`select pg_sleep(0.1)`)
  const second = pool.run(readPid)
  t.equal(pool.waiting, 1)
  const error = await pool.run(readPid).catch(error => error)
  t.match(error, { name: 'PoolError', code: 'POOL_FULL' })
  t.equal(classifyFailure(error), 'refused')
  await Promise.all([first, second])
})

t.test('rejects a query whose backend is killed, and serves waiting queries on a new connection', async t => {
  await emptyNotes()
  const pool = makePool(t, 1)
  const pid = await pool.run(readPid)
  const killed = pool.run(sql => sql`select pg_sleep(60)`).catch(classifyFailure)
  const next = pool.run(addNote(1))
  await terminate(pid)
  t.equal(await killed, 'lost')
  await next
  await pool.run(addNote(2))
  t.strictSame(await readNotes(), [1, 2])
})

t.test('replaces a connection that was killed while idle', async t => {
  await emptyNotes()
  const pool = makePool(t, 1)
  const pid = await pool.run(readPid)
  await terminate(pid)
  // The pool may learn of the termination after it has sent the query, which is then lost.
  const outcome = await pool.run(addNote(1)).then(() => 'stored', classifyFailure)
  t.ok(['stored', 'lost'].includes(outcome), outcome)
  t.not(await pool.run(readPid), pid)
})

t.test('a query on a failed connection that is not closed yet fails when it closes', async t => {
  let socket: Socket | undefined
  const onSocket = (opened: Socket) => {
    socket = opened
  }
  const pool = new Pool(onClose => database.connect({ onClose }, onSocket), { size: 1 })
  t.teardown(() => pool.end())
  const pid = await pool.run(readPid)
  let outcome = 'not answered'
  socket!.once('error', () => {
    const note = (failure: string) => {
      outcome = failure
    }
    pool.run(readPid).catch(classifyFailure).then(String).then(note)
  })
  const closed = new Promise(resolve => socket!.once('close', resolve))
  socket!.destroy(Object.assign(new Error('reset'), { code: 'ECONNRESET', syscall: 'read' }))
  await closed
  await turn()
  t.equal(outcome, 'lost')
  t.not(await pool.run(readPid), pid, 'another connection replaces it')
})

t.test('commits a transaction', async t => {
  await emptyNotes()
  const pool = makePool(t, 1)
  const result = await pool.transaction(async sql => {
    await addNote(1)(sql)
    await addNote(2)(sql)
    return 'done'
  })
  t.equal(result, 'done')
  t.strictSame(await readNotes(), [1, 2])
})

t.test('rolls a transaction back if its work throws', async t => {
  await emptyNotes()
  const pool = makePool(t, 1)
  const thrown = pool.transaction(async sql => {
    await addNote(1)(sql)
    throw new Error('changed my mind')
  })
  await t.rejects(thrown, { message: 'changed my mind' })
  t.strictSame(await readNotes(), [])
  await pool.run(addNote(2))
  t.strictSame(await readNotes(), [2])
})

t.test('does not report a transaction as committed if PostgreSQL rolled it back', async t => {
  await emptyNotes()
  const pool = makePool(t, 1)
  const swallowed = pool.transaction(async sql => {
    await addNote(1)(sql)
    await addNote(1)(sql).catch(() => {})
  })
  await t.rejects(swallowed, { code: 'TX_ABORTED' })
  t.strictSame(await readNotes(), [])
})

t.test('accepts a transaction mode', async t => {
  await emptyNotes()
  const pool = makePool(t, 1)
  const written = pool.transaction(addNote(1), 'isolation level repeatable read read only')
  t.equal(await written.catch(classifyFailure), 'refused')
})

t.test('loses the whole transaction when its backend is killed', async t => {
  await emptyNotes()
  const sleep = (sql: Sql) => sql`select pg_sleep(60)`
  const moments: [name: string, work: (sql: Sql, pid: number) => Promise<unknown>][] = [
    ['during a query', (sql, pid) => Promise.all([sleep(sql), terminate(pid)])],
    ['between two queries', (_, pid) => terminate(pid)],
    [
      'during a query whose failure the work ignored',
      (sql, pid) => Promise.all([sleep(sql).catch(() => {}), terminate(pid)])
    ]
  ]
  for (const [name, work] of moments) {
    const pool = makePool(t, 1)
    const outcome = pool
      .transaction(async sql => {
        const pid = await readPid(sql)
        await addNote(1)(sql)
        await work(sql, pid)
        await addNote(2)(sql)
      })
      .catch(classifyFailure)
    // This call waits for the same connection. Its note must not become part of the transaction, nor be lost with it.
    const next = pool.run(addNote(3))
    t.equal(await outcome, 'lost', name)
    await next
    t.strictSame(await readNotes(), [3], name)
    await emptyNotes()
  }
})

t.test('loses no acknowledged write while backends are killed under many writers', async t => {
  await emptyNotes()
  const pool = makePool(t, 4)
  const answered: number[] = []
  let unanswered = 0
  let last = 0
  let writing = true
  async function write() {
    while (writing) {
      const id = ++last
      await pool.run(addNote(id)).then(
        () => answered.push(id),
        error => {
          if (classifyFailure(error) !== 'lost') throw error
          unanswered++
        }
      )
    }
  }
  const writers = Promise.all(Array.from({ length: 8 }, write))
  // Repeats until some work has succeeded and some work has been lost.
  for (let round = 0; round < 10 || answered.length === 0 || unanswered === 0; round++) {
    const rows = await admin`
      select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
    await Promise.all(rows.map(row => terminate(row.pid)))
  }
  writing = false
  await writers
  const stored = new Set(await readNotes())
  t.strictSame(
    answered.filter(id => !stored.has(id)),
    []
  )
  t.comment(`${answered.length} acknowledged, ${unanswered} lost`)
})

t.test('abandons a connection that hangs, but not one that is only slow', async t => {
  const relay = await testRelay(t, database.target)
  const pool = new Pool(onClose => relay.connect({ onClose }), { size: 2 })
  t.teardown(() => pool.end(0))
  t.match(await pool.run(sql => sql`select 1 as one, pg_sleep(4)`), [{ one: 1 }])
  const pid = await pool.run(readPid)
  relay.swallow()
  t.equal(await pool.run(readPid).catch(classifyFailure), 'lost')
  t.not(await pool.run(readPid), pid)
  relay.hang()
  const unanswered = await Promise.all([1, 2, 3, 4, 5].map(() => pool.run(readPid).catch(classifyFailure)))
  t.same(new Set(unanswered), new Set(['lost', 'refused']), 'waiting queries do not retry one by one')
})

t.test('rejects at once if nothing can have been sent', async t => {
  const relay = await testRelay(t, database.target)
  relay.cut()
  const pool = new Pool(onClose => relay.connect({ onClose }), { size: 1 })
  t.teardown(() => pool.end(0))
  const both = [pool.run(readPid), pool.run(readPid)].map(work => work.catch(classifyFailure))
  t.same(await Promise.all(both), ['refused', 'refused'])
  relay.mend()
  t.type(await pool.run(readPid), 'number')
})

t.test('ends after the work in flight, and rejects further work', async t => {
  const pool = makePool(t, 1)
  const working = pool.run(async sql => {
    await sql`select pg_sleep(0.05)`
    return readPid(sql)
  })
  const waiting = pool.run(readPid).catch(classifyFailure)
  const ending = pool.end()
  t.equal(await waiting, 'refused')
  t.type(await working, 'number')
  await ending
  t.equal(await pool.run(readPid).catch(classifyFailure), 'refused')
})

t.test('only work whose client has disconnected leaves the queue', async t => {
  const pool = makePool(t, 1)
  const client = new AbortController()
  let leave = () => {}
  const held = new Promise<void>(resolve => {
    leave = resolve
  })
  const first = pool.run(async sql => {
    const pid = await readPid(sql)
    await held
    return pid
  })
  const gone = pool.run(readPid, client).catch(error => error)
  const last = pool.run(readPid)
  client.abort()
  const error = await gone
  t.match(error, { name: 'PoolError', code: 'CLIENT_GONE' })
  t.equal(classifyFailure(error), 'refused')
  t.equal(pool.waiting, 1)
  leave()
  t.equal(await last, await first)
})

t.test('a query that is cancelled before its connection opens fails no other query', async t => {
  const relay = await testRelay(t, database.target)
  relay.hang()
  const pool = new Pool(onClose => relay.connect({ onClose }), { size: 1 })
  t.teardown(() => pool.end(0))
  const client = new AbortController()
  const gone = pool.run(readPid, client).catch(() => 'given up')
  const last = pool.run(readPid)
  client.abort()
  t.equal(await gone, 'given up')
  relay.mend()
  t.type(await last, 'number')
})

t.test('work that reads more releases the rows that it has read', async t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const read: WeakRef<object>[] = []
  await makePool(t, 1).run(async sql => {
    const ask = async (n: number) => void read.push(new WeakRef(await sql`select ${sql`${n}::int`} as n`))
    for (let n = 0; n < 10; n++) await ask(n)
    await turn()
    collect()
    // The driver itself may keep the rows of its latest query.
    t.ok(read.filter(each => each.deref() !== undefined).length <= 1)
  })
})

t.test('a client that disconnects between two queries cancels the second', async t => {
  const client = new AbortController()
  const outcome = makePool(t, 1).run(async sql => {
    await sql`select ${sql`1`} as one`
    // Work is watched only after a tenth of a second.
    await delay(200)
    client.abort()
    await turn()
    return readPid(sql)
  }, client)
  t.equal(await outcome.catch(classifyFailure), 'lost')
})

t.test('pools that share a single slot complete their work', async t => {
  const limit = new ConnectionLimit(1)
  const pools = [1, 2, 3].map(() => new Pool(onClose => database.connect({ onClose }), { size: 2, limit }))
  t.teardown(() => Promise.all(pools.map(pool => pool.end())))
  const work = pools.flatMap(pool => [1, 2, 3, 4].map(n => pool.run(sql => sql`select ${n}::int as n`)))
  const done = (await Promise.all(work)).map(([row]) => row?.n)
  t.same(done, [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4])
})
