import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openEmbedded } from '../../../../lib/database/embedded/embedded.ts'
import { enterFolder } from '../../../../lib/database/embedded/folder-users.ts'
import { createLog } from '../../../../lib/log.ts'
import { testFolder } from '../../../fixtures/folder.ts'
import { dataFolder, serve, stop } from '../../../fixtures/service/spoor.ts'

const log = createLog('silent')
const OPENER = fileURLToPath(new URL('opener.js', import.meta.url))
const IN_USE = /DATA_DIR .* is in use by a process of another container/

t.test('a folder takes processes of one namespace only, and left-over sockets do not count', async t => {
  // Longer than the path of a socket may be.
  const folder = join(await testFolder(t), 'x'.repeat(120))
  const cluster = await openEmbedded(folder, 'serve', log)
  await t.rejects(enterFolder(folder, log, 'other'), IN_USE)
  await t.resolves(
    enterFolder(folder, log).then(leave => leave()),
    'the same namespace'
  )
  await cluster.close()
  t.same(await readdir(join(folder, 'users')), [], 'nothing is left')

  const leave = await enterFolder(folder, log, 'other')
  for (const role of ['serve', 'command'] as const) await t.rejects(openEmbedded(folder, role, log), IN_USE)
  await leave()
  const again = await openEmbedded(folder, 'command', log)
  await again.close()
})

t.test('a server in another PID namespace is noticed, and its folder is free when it was killed', async t => {
  const folder = await dataFolder(t)
  const { serving, address } = await serve(t, { DATA_DIR: folder })
  const inside = ['--pid', '--fork', '--mount-proc', '--kill-child', process.execPath, OPENER, folder, 'serve']
  const run = (parameters: string[]) => spawn('unshare', parameters, { stdio: ['ignore', 'pipe', 'pipe'] })
  const probe = run(['--pid', '--fork', 'true'])
  const mayUnshare = await once(probe, 'exit').then(
    ([code]) => code === 0,
    () => false
  )
  // What a container's engine may do, not every user may. The test above covers all but the kernel's part.
  if (!mayUnshare) {
    t.pass('this user may not make a namespace')
    return
  }
  const refused = run(inside)
  let said = ''
  refused.stderr.on('data', chunk => {
    said += chunk
  })
  await once(refused, 'close')
  t.match(said, IN_USE)
  t.equal((await fetch(`${address}/readyz`)).status, 200, 'the first server goes on')
  await stop(serving)

  const other = run(inside)
  t.match(String(await once(other.stdout, 'data')), 'open')
  await t.rejects(openEmbedded(folder, 'command', log), IN_USE)
  other.kill('SIGKILL')
  await once(other, 'close')
  const next = await serve(t, { DATA_DIR: folder })
  t.equal((await stop(next.serving)).code, 0)
})
