import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openEmbedded } from '../../../../lib/database/embedded/embedded.ts'
import { enterFolder } from '../../../../lib/database/embedded/folder-users.ts'
import { createLog } from '../../../../lib/log.ts'
import { testFolder } from '../../../fixtures/folder.ts'

const log = createLog('silent')
const IN_USE = /DATA_DIR .* is in use by a process in another container/

t.test('a folder accepts processes of only one namespace, and stale sockets do not count', async t => {
  // The path is longer than a socket's path may be.
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
