/**
 * Tests traps that the user that runs PostgreSQL can set for a root process. If the tests do not run as root, one user
 * owns everything, and only the links are tested.
 */

import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readFileSync, statSync } from 'node:fs'
import { chmod, chown, lchown, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { findClusterUser, isRoot } from '../../../../lib/database/embedded/cluster-user.ts'
import { openEmbedded } from '../../../../lib/database/embedded/embedded.ts'
import { prepareDataFolder, prepareHome } from '../../../../lib/database/embedded/folders.ts'
import { tryLock } from '../../../../lib/database/embedded/lock-file.ts'
import { readOrCreateSecret } from '../../../../lib/database/embedded/own-file.ts'
import { announceServer } from '../../../../lib/health/running-server.ts'
import { createLog } from '../../../../lib/log.ts'
import { testFolder } from '../../../fixtures/folder.ts'

const log = createLog('silent')
const SECRETS = ['database-password', 'key-digest-secret']

t.test('files are written into the folder, even if a link has their name', async t => {
  const folder = await testFolder(t)
  const victim = join(folder, 'victim')
  await writeFile(victim, 'precious')
  const dataDir = join(folder, 'data')
  await mkdir(dataDir)
  for (const name of ['server.json', 'spoor.pid']) await symlink(victim, join(dataDir, name))
  await announceServer(dataDir, 'http://127.0.0.1:1')
  const release = await tryLock(join(dataDir, 'spoor.pid'))
  t.type(release, 'function', 'a link holds nothing')
  for (const name of ['server.json', 'spoor.pid']) t.ok(lstatSync(join(dataDir, name)).isFile(), name)
  t.equal(readFileSync(victim, 'utf8'), 'precious')
})

t.test('a secret that is a link or a folder is not read, and its target is not touched', async t => {
  const folder = await testFolder(t)
  const victim = join(folder, 'victim')
  await writeFile(victim, 'precious')
  await chmod(victim, 0o644)
  const path = join(folder, 'key-digest-secret')
  for (const place of [() => symlink(victim, path), () => symlink(join(folder, 'nowhere'), path), () => mkdir(path)]) {
    await place()
    await t.rejects(readOrCreateSecret(path, log), { name: 'ConfigError', message: /must be a file, not a link/ })
    await rm(path, { recursive: true })
  }
  t.equal(statSync(victim).mode & 0o777, 0o644)
  t.notOk(existsSync(join(folder, 'nowhere')))
})

t.test('a draft is created under an unpredictable name', async t => {
  const folder = await testFolder(t)
  const victim = join(folder, 'victim')
  await writeFile(victim, 'precious')
  const path = join(folder, 'database-password')
  await symlink(victim, `${path}-${process.pid}`)
  const secret = await readOrCreateSecret(path, log)
  t.equal(readFileSync(path, 'utf8').trim(), secret)
  t.equal(readFileSync(victim, 'utf8'), 'precious')
})

/** Returns whether a command succeeds as another user. */
function succeeds({ uid, gid }: { uid: number; gid: number }, [command = '', ...args]: string[]): boolean {
  const { status, error } = spawnSync(command, args, { uid, gid, cwd: '/', stdio: 'ignore' })
  if (error !== undefined) throw error
  return status === 0
}

if (isRoot()) {
  const user = findClusterUser()!

  t.test('root owns the data folder, and only the home is handed over', async t => {
    const dataDir = join(await testFolder(t), 'data')
    const cluster = await openEmbedded(dataDir, 'serve', log)
    t.match(statSync(dataDir), { uid: 0, gid: user.gid })
    t.equal(statSync(dataDir).mode & 0o777, 0o710)
    for (const name of await readdir(dataDir)) {
      const { uid, mode } = statSync(join(dataDir, name))
      t.equal(uid, name === 'postgres' ? user.uid : 0, name)
      t.equal(mode & 0o077, 0, name)
    }
    await cluster.close()
  })

  t.test("other users can read nothing in the data folder, and PostgreSQL's user only its home", async t => {
    const dataDir = join(await testFolder(t), 'data')
    const before = await openEmbedded(dataDir, 'serve', log)
    await before.close()
    // Version 1.0.0-rc.1 created the folder like this.
    await chown(dataDir, 0, 0)
    await chmod(dataDir, 0o711)
    const cluster = await openEmbedded(dataDir, 'serve', log)
    await announceServer(dataDir, 'http://127.0.0.1:1')
    const names = await readdir(dataDir)
    for (const name of [...SECRETS, 'postgres', 'server.json', 'spoor.pid', 'users']) t.ok(names.includes(name), name)

    const stranger = { uid: 4_242_424, gid: 4_242_424 }
    t.notOk(succeeds(stranger, ['ls', dataDir]), 'the names of its files')
    for (const name of names) t.notOk(succeeds(stranger, ['ls', '-d', join(dataDir, name)]), `${name} exists or not`)

    t.notOk(succeeds(user, ['ls', dataDir]))
    t.notOk(succeeds(user, ['touch', join(dataDir, 'new')]))
    for (const name of names) {
      const path = join(dataDir, name)
      const isHome = name === 'postgres'
      t.equal(succeeds(user, [statSync(path).isDirectory() ? 'ls' : 'cat', path]), isHome, `its user reads ${name}`)
      t.notOk(succeeds(user, ['mv', path, `${path}-away`]), `its user moves ${name}`)
    }
    await cluster.close()
  })

  t.test('a database that belongs to another user than the current choice stays accessible to its user', async t => {
    const other = { uid: 4_242_424, gid: 4_242_424 }
    const dataDir = join(await testFolder(t), 'data')
    await mkdir(join(dataDir, 'postgres'), { recursive: true, mode: 0o700 })
    await chown(join(dataDir, 'postgres'), other.uid, other.gid)
    await prepareDataFolder(dataDir)
    t.match(await prepareHome(dataDir, log), { folder: join(dataDir, 'postgres'), user: other })
    t.match(statSync(dataDir), { uid: 0, gid: other.gid })
  })

  t.test('a folder that an earlier version handed over is taken back, with its database and its secrets', async t => {
    const dataDir = join(await testFolder(t), 'data')
    const before = await openEmbedded(dataDir, 'serve', log)
    await before.close()
    await chown(dataDir, user.uid, user.gid)
    await chmod(dataDir, 0o700)
    const victim = join(dataDir, '..', 'victim')
    await writeFile(victim, 'precious')
    for (const name of ['server.json', 'spoor.pid', 'starting.pid']) {
      await symlink(victim, join(dataDir, name))
      await lchown(join(dataDir, name), user.uid, user.gid)
    }
    const after = await openEmbedded(dataDir, 'serve', log)
    await announceServer(dataDir, 'http://127.0.0.1:1')
    t.equal(after.digestSecret, before.digestSecret)
    t.match(statSync(dataDir), { uid: 0 })
    t.equal(statSync(dataDir).mode & 0o777, 0o710)
    await after.close()
    t.equal(readFileSync(victim, 'utf8'), 'precious')
    t.equal(statSync(victim).uid, 0)
  })

  t.test('a secret that the database’s user put there is rejected', async t => {
    for (const name of SECRETS) {
      const dataDir = join(await testFolder(t), 'data')
      await mkdir(dataDir)
      await chown(dataDir, user.uid, user.gid)
      await writeFile(join(dataDir, name), 'chosen by somebody else')
      await chown(join(dataDir, name), user.uid, user.gid)
      const message = new RegExp(`${name} must be a file, not a link, that belongs to this user`)
      await t.rejects(openEmbedded(dataDir, 'serve', log), { name: 'ConfigError', message })
    }
  })

  t.test('a home that is a link, of the database’s user or of root, is rejected', async t => {
    const folder = await testFolder(t)
    const elsewhere = join(folder, 'elsewhere')
    await mkdir(elsewhere)
    const dataDir = join(folder, 'data')
    await mkdir(dataDir)
    await chown(dataDir, user.uid, user.gid)
    const home = join(dataDir, 'postgres')
    await symlink(elsewhere, home)
    await lchown(home, user.uid, user.gid)
    await t.rejects(openEmbedded(dataDir, 'serve', log), {
      name: 'ConfigError',
      message: /is a link that neither root nor/
    })
    await rm(home)
    await symlink(elsewhere, home)
    await t.rejects(openEmbedded(dataDir, 'serve', log), { name: 'ConfigError', message: /belongs to root/ })
    t.equal(statSync(elsewhere).uid, 0)
  })

  t.test(
    'files that the database’s user put into its home are not followed when a database is created there',
    async t => {
      const folder = await testFolder(t)
      const victim = join(folder, 'victim')
      await mkdir(victim)
      await writeFile(join(victim, 'kept'), 'precious')
      const dataDir = join(folder, 'data')
      await prepareDataFolder(dataDir)
      const home = join(dataDir, 'postgres')
      await mkdir(home, { mode: 0o700 })
      // An abandoned attempt, with links in it and next to it.
      await mkdir(join(home, 'data-abandoned'))
      for (const name of ['data-link', 'data-abandoned/link', 'data-abandoned.password']) {
        await symlink(victim, join(home, name))
        await lchown(join(home, name), user.uid, user.gid)
      }
      for (const path of [home, join(home, 'data-abandoned')]) await chown(path, user.uid, user.gid)
      const cluster = await openEmbedded(dataDir, 'serve', log)
      await cluster.close()
      t.same(
        (await readdir(home)).filter(name => name.startsWith('data-')),
        []
      )
      t.same((await readdir(dataDir)).sort(), ['database-password', 'key-digest-secret', 'postgres', 'users'])
      t.equal(readFileSync(join(victim, 'kept'), 'utf8'), 'precious')
      t.equal(statSync(victim).uid, 0)
    }
  )
}
