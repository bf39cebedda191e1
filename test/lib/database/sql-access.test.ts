import type { Sql } from 'postgres'
import t from 'tap'
import { connectTo } from '../../../lib/database/connection.ts'
import { Pool } from '../../../lib/database/pool.ts'
import { createSqlAccess } from '../../../lib/database/sql-access.ts'
import { Refusal } from '../../../lib/errors.ts'
import { testDatabase } from '../../fixtures/database/database.ts'

const database = await testDatabase(t)
const { sqlAccess } = database
const admin = database.connect({ applicationName: 'admin' })
t.teardown(() => admin.end({ timeout: 1 }))

/** Runs `select 1`. Each of the first `attempts` attempts fails in the given way. */
function failing(attempts: number, fail: (sql: Sql) => Promise<unknown>) {
  let calls = 0
  const work = async (sql: Sql) => {
    if (++calls <= attempts) await fail(sql)
    return sql`select 1 as one`
  }
  return { work, calls: () => calls }
}

const raise = (state: string) => (sql: Sql) => sql.unsafe(`do $$ begin raise sqlstate '${state}'; end $$`)
/** The statement's own backend is terminated while it runs. */
const lose = (sql: Sql) => sql`select pg_terminate_backend(pg_backend_pid()), pg_sleep(1)`

t.test('returns the results of reads and writes', async t => {
  t.match(await sqlAccess.read(sql => sql`select 1 as one`), [{ one: 1 }])
  t.match(await sqlAccess.write(sql => sql`select 2 as two`), [{ two: 2 }])
})

t.test('retries a read once if the connection was lost', async t => {
  const once = failing(1, lose)
  t.match(await sqlAccess.read(once.work), [{ one: 1 }])
  t.equal(once.calls(), 2)
  const twice = failing(2, lose)
  await t.rejects(sqlAccess.read(twice.work), { code: 'unavailable', status: 503 })
  t.equal(twice.calls(), 2)
})

t.test('responds to a rejected read with 503', async t => {
  const refused = failing(1, raise('53300'))
  await t.rejects(sqlAccess.read(refused.work), { code: 'unavailable', cause: { code: '53300' } })
  t.equal(refused.calls(), 1)
})

t.test('retries a write that the database rolled back in favour of another', async t => {
  for (const state of ['40001', '40P01']) {
    const thrice = failing(3, raise(state))
    t.match(await sqlAccess.write(thrice.work), [{ one: 1 }])
    t.equal(thrice.calls(), 4)
    await t.rejects(sqlAccess.write(failing(4, raise(state)).work), { code: 'quota_exhausted' })
  }
})

t.test('responds to a rejected write with 429', async t => {
  for (const state of ['53100', '57P03', '25006', '57014', '55P03']) {
    const refused = failing(1, raise(state))
    await t.rejects(sqlAccess.write(refused.work), { code: 'quota_exhausted', status: 429, cause: { code: state } })
    t.equal(refused.calls(), 1)
  }
})

t.test('retries a lost write, which knows what was sent before', async t => {
  const told: boolean[] = []
  const result = await sqlAccess.write(async (sql, attempts) => {
    told.push(attempts.sent)
    attempts.sent = true
    if (told.length < 3) await lose(sql)
    return 'done'
  })
  t.equal(result, 'done')
  t.same(told, [false, true, true])
})

t.test('passes refusals and errors of the work on unchanged', async t => {
  const refusal = new Refusal('conflict', 'enough')
  for (const run of [sqlAccess.read, sqlAccess.write]) {
    await t.rejects(
      run(() => Promise.reject(refusal)),
      refusal
    )
    await t.rejects(
      run(sql => sql`select from nothing_of_that_name`),
      { code: '42P01' }
    )
  }
})

t.test('rejects work while there is no server', async t => {
  const nowhere = { socketDir: '/nonexistent', port: 5432, user: 'x', password: 'x', database: 'x' }
  const pool = new Pool(onClose => connectTo(nowhere, { onClose }), { size: 1 })
  t.teardown(() => pool.end())
  const away = createSqlAccess(pool)
  await t.rejects(
    away.read(sql => sql`select 1`),
    { code: 'unavailable' }
  )
  await t.rejects(
    away.write(sql => sql`select 1`),
    { code: 'quota_exhausted' }
  )
})
