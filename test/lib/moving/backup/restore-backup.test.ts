import t from 'tap'
import { backUp } from '../../../../lib/moving/backup/write-backup.ts'
import { ingestBody, span } from '../../../fixtures/bodies/bodies.ts'
import {
  backupOf,
  bytesOf,
  formerBackupOf,
  fullInstance,
  inPieces,
  instanceRows,
  linesOf,
  restore
} from '../../../fixtures/database/backups.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { countOrphans, countStrays, NO_ORPHANS, NO_STRAYS } from '../../../fixtures/database/seed.ts'
import { type TestService, testService } from '../../../fixtures/service/service.ts'

/** Reads a project through the API and returns each path with its response as a string. */
async function answers({ call }: TestService, key: string): Promise<[string, string][]> {
  const paths = [
    '/project',
    '/traces',
    '/traces?sort=slowest&limit=5',
    '/traces?tag=a',
    '/traces?name=run%200',
    '/scores'
  ]
  const { traces } = (await call('GET', '/api/v1/traces?limit=200', { key })).body
  const all = [...paths, ...traces.map(({ id }: { id: string }) => `/traces/${id}`)]
  const each: [string, string][] = []
  for (const path of all) {
    const { status, text } = await call('GET', `/api/v1${path}`, { key })
    each.push([path, `${status} ${text}`])
  }
  return each
}

const FORMATS = [
  ['of this version', backupOf],
  ['in format 1', formerBackupOf]
] as const
for (const [kind, makeBackup] of FORMATS) {
  t.test(`restoring into an empty database yields the backed-up data: a backup ${kind}`, async t => {
    const original = await fullInstance(t)
    const { key: second } = await original.makeKey({ project: 'second' })
    const keys = [original.key, second]
    const before = [await answers(original, keys[0]!), await answers(original, keys[1]!)]
    const backup = await makeBackup(original.database)
    const copy = await testDatabase(t)
    const restored = await restore(t, copy, backup)
    t.match(restored, {
      resumed: false,
      otherSecret: false,
      counts: { projects: 2, traces: 34, authors: 2, messages: 1 }
    })
    t.same(await instanceRows(copy), await instanceRows(original.database))
    t.same(await copy.pool.run(countStrays), NO_STRAYS)
    t.same(await copy.pool.run(countOrphans), NO_ORPHANS)

    const service = await testService(t, { database: copy })
    t.same([await answers(service, keys[0]!), await answers(service, keys[1]!)], before, 'the API answers the same')
    t.equal((await service.call('POST', '/api/v1/traces', { key: keys[0]!, body: ingestBody() })).status, 201)
    t.equal(await service.makeProject('third'), '3', 'new numbers follow the restored ones')
    const [a, b] = [linesOf(await makeBackup(copy)), linesOf(backup)]
    t.equal(a.length > b.length, true, 'a backup of the copy has more')
    await t.rejects(restore(t, copy, backup), { message: /has already been restored into this database/ })
    const other = linesOf(backup)[0]!.replace(/"id":"[0-9a-f]{32}"/, `"id":"${'0'.repeat(32)}"`)
    await t.rejects(restore(t, copy, bytesOf([other, ...linesOf(backup).slice(1)])), {
      message: /is not empty \(projects: 3\)/
    })
  })
}

t.test('a backup is of one moment, whatever is written and deleted meanwhile', async t => {
  const service = await fullInstance(t)
  const { database } = service
  const before = linesOf(await backupOf(database)).slice(1, -1)
  const chunks: Buffer[] = []
  const writeMeanwhile = async (bytes: AsyncIterable<Buffer>) => {
    let isFirst = true
    for await (const chunk of bytes) {
      chunks.push(chunk)
      if (!isFirst) continue
      isFirst = false
      for (let n = 0; n < 5; n++) {
        const answer = await service.call('POST', '/api/v1/traces', { body: ingestBody({ spans: [span()] }) })
        t.equal(answer.status, 201)
      }
      const { traces } = (await service.call('GET', '/api/v1/traces')).body
      await service.call('DELETE', `/api/v1/traces/${traces.at(-1).id}`)
      await service.makeProject('late')
      await service.makeKey()
    }
  }
  await backUp(database.pool, 4, writeMeanwhile, undefined, 3)
  t.same(linesOf(Buffer.concat(chunks)).slice(1, -1), before)
})

for (const [kind, makeBackup] of FORMATS) {
  t.test(`an interrupted restore lets nobody in, and continues when it is run again: a backup ${kind}`, async t => {
    const original = await fullInstance(t)
    const rows = await instanceRows(original.database)
    const backup = await makeBackup(original.database)
    const lines = linesOf(backup)
    for (let place = 1; place <= 10; place++) {
      await t.test(`killed at point ${place} of 10`, async t => {
        const copy = await testDatabase(t)
        const cut = Math.max(12, Math.floor((lines.length * place) / 10) - 1)
        const source = async function* () {
          yield* inPieces(bytesOf(lines.slice(0, cut)))
          throw new Error('the power went')
        }
        await t.rejects(restore(t, copy, source()), { message: 'the power went' })
        const [doors] = await copy.pool.run(
          sql => sql`select (select count(*) from api_keys) + (select count(*) from memberships) as doors`
        )
        t.same(doors, { doors: 0 })
        t.match(await restore(t, copy, backup), { resumed: true })
        t.same(await instanceRows(copy), rows)
        t.same(await copy.pool.run(countOrphans), NO_ORPHANS)
      })
    }
  })
}

t.test('a restore into existing data assigns new numbers, and leaves the existing data unchanged', async t => {
  const original = await fullInstance(t)
  const other = await fullInstance(t)
  const backup = await backupOf(original.database)
  const taken = other.database
  await t.rejects(restore(t, taken, backup), { message: /is not empty/ })
  await t.rejects(restore(t, taken, backup, { into: true }), { message: /the slug default, second is already used/ })
  await taken.pool.run(sql => sql`update projects set slug = 'other-' || slug`)
  const before = await instanceRows(taken)
  const secret = { ...taken, digestSecret: 'another' }
  await t.rejects(restore(t, secret, backup, { into: true }), { message: /use --revoke-keys/ })
  t.same(await instanceRows(taken), before, 'a rejected restore changes nothing')

  // The secret is the same although the salt differs, so keys work.
  const restored = await restore(t, taken, backup, { into: true })
  t.match(restored, { otherSecret: false })
  const after = await instanceRows(taken)
  t.match(after.traces.slice(0, 2), before.traces)
  t.same(after.traces.slice(2), (await instanceRows(original.database)).traces)
  t.same(
    after.users.map(user => user.email),
    ['ada@example.com', 'bob@example.com'],
    'identified by their addresses'
  )
  t.equal(after.members.length, 4)
  t.same(
    after.projects.map(project => project.slug),
    ['other-default', 'other-second', 'default', 'second']
  )
  t.same(
    await answers(other, original.key).then(each => each.slice(1)),
    (await answers(original, original.key)).slice(1)
  )
})

t.test(
  'duplicates, a newer schema, and a password in an unknown form are rejected before anything is written',
  async t => {
    const lines = linesOf(await backupOf((await fullInstance(t)).database))
    const copy = await testDatabase(t)
    const member = lines.findIndex(line => line.startsWith('{"member":'))
    const password = (stored: string) =>
      lines.map(line => line.replace(/^(\{"user":.*"password":)(?:null|"[^"]*")/, (_, head) => `${head}"${stored}"`))
    const tail = `$8$3$${'A'.repeat(22)}$${'A'.repeat(43)}`
    const edit = (kind: string, from: RegExp, to: string) =>
      lines.map(line => (line.startsWith(`{"${kind}":`) ? line.replace(from, to) : line))
    const edited: [readonly string[], RegExp][] = [
      [edit('backup', /"schema":\d+/, '"schema":99'), /with schema 99, but this version supports up to \d+: update/],
      [edit('project', /"views":\[(.*?\}),/, '"views":[$1,$1,'), /contains the view .* twice/],
      [edit('user', /"identities":\[(\{.*?\})/, '"identities":[$1,$1'), /contains the identity .* twice/],
      [[...lines.slice(0, member), lines[member]!, ...lines.slice(member)], /contains the membership .* twice/],
      ...['x', `scrypt$2${tail}`, `scrypt$1073741824${tail}`, `scrypt$32769${tail}`].map(
        (stored): [string[], RegExp] => [password(stored), /the stored password of .* is malformed/]
      )
    ]
    for (const [each, message] of edited)
      await t.rejects(restore(t, copy, bytesOf(each)), { name: 'AdminError', message })
    const [{ accounts }] = await copy.pool.run(
      sql => sql<[{ accounts: number }]>`select count(*)::int as accounts from accounts`
    )
    t.equal(accounts, 0)
  }
)

t.test('keys of another secret can be restored as revoked', async t => {
  const original = await fullInstance(t)
  const backup = await backupOf(original.database)
  const empty = await testDatabase(t)
  t.match(await restore(t, { ...empty, digestSecret: 'another' }, backup), { otherSecret: true })
  const copy = await testDatabase(t)
  const options = { into: true, revokeKeys: true }
  t.match(await restore(t, { ...copy, digestSecret: 'another' }, backup, options), { otherSecret: false })
  t.same(await copy.pool.run(sql => sql`select from api_keys where revoked_at is null`), [])
})
