/**
 * Tests the detection of a data folder's users: all processes of one server, none for a copy of the folder, and a
 * server in another container.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openEmbedded } from '../../../lib/database/embedded/embedded.ts'
import { createLog } from '../../../lib/log.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { dataFolder, runForJson, serve, stop, tryKey } from '../../fixtures/service/spoor.ts'
import { longTest } from '../orders.ts'

const log = createLog('silent')
const OPENER = fileURLToPath(new URL('../../lib/database/embedded/opener.js', import.meta.url))
const IN_USE = /DATA_DIR .* is in use by a process in another container/

longTest('each of several processes is registered in the folder', async t => {
  const folder = await dataFolder(t)
  const { serving } = await serve(t, { DATA_DIR: folder, PROCESSES: '2' })
  t.equal((await readdir(join(folder, 'users'))).length, 3)
  t.match(await stop(serving), { code: 0, err: '' })
  t.same(await readdir(join(folder, 'users')), [])
})

longTest("a copied folder starts, beside the original's server", async t => {
  const folder = await dataFolder(t)
  const copy = join(await testFolder(t), 'copy')
  const { serving, address, key } = await serve(t, { DATA_DIR: folder })
  execFileSync('cp', ['-a', folder, copy])
  const other = await serve(t, { DATA_DIR: copy })
  t.not(other.address, address)
  t.equal(await tryKey(other.address, key!), 200)
  t.match(await runForJson(['status'], { DATA_DIR: copy }), { server: { address: other.address } })
  t.match(await runForJson(['status'], { DATA_DIR: folder }), { server: { address } })
  await stop(other.serving)
  t.equal(await tryKey(address, key!), 200, 'the first one is not affected')
  await stop(serving)
})

longTest('a server in another PID namespace is detected, and its folder is free after it is killed', async t => {
  const folder = await dataFolder(t)
  const { serving, address } = await serve(t, { DATA_DIR: folder })
  const inside = ['--pid', '--fork', '--mount-proc', '--kill-child', process.execPath, OPENER, folder, 'serve']
  const run = (parameters: string[]) => spawn('unshare', parameters, { stdio: ['ignore', 'pipe', 'pipe'] })
  const probe = run(['--pid', '--fork', 'true'])
  const mayUnshare = await once(probe, 'exit').then(
    ([code]) => code === 0,
    () => false
  )
  // Not every user may create the namespaces that a container engine creates. The previous test covers everything
  // except the kernel's part.
  if (!mayUnshare) {
    t.pass('this user cannot create a namespace')
    return
  }
  const refused = run(inside)
  let said = ''
  refused.stderr.on('data', chunk => {
    said += chunk
  })
  await once(refused, 'close')
  t.match(said, IN_USE)
  t.equal((await fetch(`${address}/readyz`)).status, 200, 'the first server continues')
  await stop(serving)

  const other = run(inside)
  t.match(String(await once(other.stdout, 'data')), 'open')
  await t.rejects(openEmbedded(folder, 'command', log), IN_USE)
  other.kill('SIGKILL')
  await once(other, 'close')
  const next = await serve(t, { DATA_DIR: folder })
  t.equal((await stop(next.serving)).code, 0)
})
