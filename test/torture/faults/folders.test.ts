/** Who is in a data folder: each process of a server, and nobody for a folder that was copied. */
import { execFileSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { testFolder } from '../../fixtures/folder.ts'
import { dataFolder, runForJson, serve, stop, tryKey } from '../../fixtures/service/spoor.ts'
import { longTest } from '../orders.ts'

longTest('each of several processes is in the folder', async t => {
  const folder = await dataFolder(t)
  const { serving } = await serve(t, { DATA_DIR: folder, PROCESSES: '2' })
  t.equal((await readdir(join(folder, 'users'))).length, 3)
  t.match(await stop(serving), { code: 0, err: '' })
  t.same(await readdir(join(folder, 'users')), [])
})

longTest('a copied folder starts, beside the server of the one that was copied', async t => {
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
  t.equal(await tryKey(address, key!), 200, 'the first one notices nothing')
  await stop(serving)
})
