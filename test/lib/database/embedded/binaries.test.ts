import { chmod, cp, lstat, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t from 'tap'
import { findBinaries } from '../../../../lib/database/embedded/binaries.ts'
import { findClusterUser, giveTo } from '../../../../lib/database/embedded/cluster-user.ts'
import { initializeCluster, startPostmaster } from '../../../../lib/database/embedded/postmaster.ts'
import { createLog } from '../../../../lib/log.ts'
import { testFolder } from '../../../fixtures/folder.ts'

const log = createLog('warn')

t.test('finds its libraries if npm ran no install script and the package is read-only', async t => {
  const user = findClusterUser()
  const installed = join(dirname((await findBinaries(user, log)).postgres), '../..')
  const folder = await testFolder(t)
  // The folder lacks its links and the script that creates them, as if the script had not been allowed to run.
  const bare = join(folder, 'package')
  await mkdir(join(bare, 'native/bin'), { recursive: true })
  for (const name of ['bin/initdb', 'bin/postgres', 'pg-symlinks.json']) {
    await cp(join(installed, 'native', name), join(bare, 'native', name))
  }
  await cp(join(installed, 'package.json'), join(bare, 'package.json'))
  const isLibrary = (path: string) => /lib$|\.so[.\d]*$/.test(path)
  await cp(join(installed, 'native/lib'), join(bare, 'native/lib'), {
    recursive: true,
    filter: async path => isLibrary(path) && !(await lstat(path)).isSymbolicLink()
  })
  const dataDir = join(folder, 'data')
  await mkdir(dataDir)
  await chmod(dataDir, 0o700)
  await giveTo(user, dataDir)
  const options = { dataDir, socketDir: folder, settings: {}, onLine: () => {} }
  const binaries = await findBinaries(user, log, { package: bare })
  await t.rejects(startPostmaster({ user, binaries }, options), { message: /shared libraries/ })
  for (const _ of ['at first', 'again']) {
    const linked = await findBinaries(user, log, { package: bare, links: join(folder, 'links') })
    // The programs run, but lack the files that were not copied.
    await t.rejects(initializeCluster({ user, binaries: linked }, join(dataDir, 'new'), 'password'), {
      message: /initdb failed: (?!.*shared libraries)/
    })
    await t.rejects(startPostmaster({ user, binaries: linked }, options), { message: /could not open directory/ })
  }
})
