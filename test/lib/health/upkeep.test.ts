import type { Sql } from 'postgres'
import t from 'tap'
import {
  certificateProblems,
  describeUpkeep,
  isUpkeepLack,
  UpkeepWatch,
  upkeepProblems
} from '../../../lib/health/upkeep.ts'
import { readUpkeep, type Upkeep } from '../../../lib/store/server/upkeep.ts'
import { testService } from '../../fixtures/service/service.ts'

const NOW = Date.UTC(2026, 10, 28)
const DAY_MS = 86_400_000
const inDays = (days: number) => new Date(NOW + days * DAY_MS).toISOString()
const WELL: Upkeep = { careless: [], transactionAge: 1e8, lastBackupAt: null, expiringKeys: [], storageUsed: 0.5 }
const KEY = { id: 'k1', label: 'bot', project: 'default', expiresAt: inDays(3.5) }

t.test('each upcoming problem is a sentence with a remedy in status, and a few words in /readyz', async t => {
  t.same([upkeepProblems(WELL, NOW), describeUpkeep(WELL, undefined, NOW)], [[], []])
  const cases: [Partial<Upkeep>, RegExp, RegExp][] = [
    [
      { careless: ['fsync'] },
      /^PostgreSQL is running with fsync = off: a crash/,
      /^safe PostgreSQL settings.*fsync off$/
    ],
    [{ careless: ['autovacuum'] }, /autovacuum = off: tables grow/, /autovacuum off/],
    [{ transactionAge: 1e9 }, /^The oldest transaction id is 1000000000 .*`vacuum freeze`/, /^transaction ids: vacuum/],
    [{ lastBackupAt: inDays(-9) }, /^The last backup is 9 days old/, /^a recent backup: the last one is 9 days old$/],
    [{ expiringKeys: [KEY] }, /^Key k1 \(bot\) of project default .* expires in 3 days/, /^valid keys: an active key/]
  ]
  for (const [change, problem, lack] of cases) {
    const upkeep = { ...WELL, ...change }
    const [problems, lacks] = [upkeepProblems(upkeep, NOW), describeUpkeep(upkeep, undefined, NOW)]
    t.match(problems, [problem])
    t.match(lacks, [lack])
    t.equal(problems.length + lacks.length, 2)
    t.ok(lacks.every(isUpkeepLack), 'so that status does not repeat it')
    t.notMatch(lacks.join(), /k1|bot|default/, 'without names, because /readyz is public')
  }
  t.match(describeUpkeep({ ...WELL, storageUsed: 0.8 }, undefined, NOW), [/^storage: a project/])
  t.same(upkeepProblems({ ...WELL, lastBackupAt: inDays(-7.9) }, NOW), [], 'a weekly backup is recent')
  t.notOk(isUpkeepLack('charts: totals are 12 minutes behind'))
})

t.test('a certificate is reported before it expires, and afterwards', async t => {
  t.same(certificateProblems('gRPC', undefined, NOW), [])
  t.same(certificateProblems('gRPC', new Date(inDays(15)), NOW), [])
  t.match(certificateProblems('gRPC', new Date(inDays(13)), NOW), [/expires in 13 days/])
  t.match(certificateProblems('gRPC', new Date(inDays(0.5)), NOW), [/expires in less than a day/])
  t.match(certificateProblems('gRPC', new Date(inDays(-1)), NOW), [/has expired, so every client rejects it/])
  t.match(describeUpkeep(undefined, new Date(inDays(1)), NOW), [
    'a valid certificate: the gRPC certificate expires soon or has expired'
  ])
})

t.test('the database is queried for active keys that expire, the last backup, and the fullest project', async t => {
  const service = await testService(t)
  const { database } = service
  const [used, unused, short] = [await service.makeKey(), await service.makeKey(), await service.makeKey()]
  await database.pool.run(async sql => {
    const read = () => readUpkeep(sql, 1000)
    t.match(await read(), { careless: Array, lastBackupAt: null, expiringKeys: [], storageUsed: 0 })
    await sql`update api_keys set expires_at = now() + interval '3 days', created_at = now() - interval '1 year',
      last_used_at = now() - interval '1 hour' where id in (${used.keyId}, ${unused.keyId}, ${short.keyId})`
    await sql`update api_keys set last_used_at = now() - interval '8 days' where id = ${unused.keyId}`
    await sql`update api_keys set created_at = now() - interval '1 day' where id = ${short.keyId}`
    await sql`insert into audit (at, action) values (now() - interval '9 days', 'backup'), (now(), 'sign-in')`
    await sql`
      insert into project_totals (project_id, slot, traces, spans, bytes) select id, 77, 0, 0, 900 from projects`
    const upkeep = await read()
    t.same(
      upkeep.expiringKeys.map(({ id, project }) => [id, project]),
      [[used.keyId, 'default']]
    )
    t.equal(upkeep.storageUsed, 0.9)
    t.match(upkeepProblems({ ...upkeep, careless: [] }, Date.now()), [/^The last backup is 9 days old/, /^Key /])
    t.ok(upkeep.transactionAge > 0)
  })
})

t.test('the upkeep is read at most once a minute, and discarded when it cannot be read', async t => {
  const { database } = await testService(t)
  let reads = 0
  const read = <T>(work: (sql: Sql) => Promise<T>) => {
    reads++
    return database.pool.run(work)
  }
  const watch = new UpkeepWatch({ read }, 1000)
  t.equal(watch.latest, undefined)
  const [first, second] = await Promise.all([watch.refresh(), watch.refresh()])
  t.match(first, { lastBackupAt: null, storageUsed: 0 })
  t.equal(second, first)
  t.equal(watch.latest, first)
  t.equal(reads, 1)
  const broken = new UpkeepWatch({ read: () => Promise.reject(new Error('away')) }, 1000)
  t.equal(await broken.refresh(), undefined)
})
