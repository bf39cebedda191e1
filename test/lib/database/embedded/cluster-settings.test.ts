import t from 'tap'
import { chooseSettings } from '../../../../lib/database/embedded/cluster-settings.ts'

const GIB = 1024 ** 3

t.test("memory settings follow the machine's memory, within bounds", async t => {
  const buffers = (memory: number) => chooseSettings(undefined, memory).shared_buffers
  t.equal(buffers(GIB / 2), '128MB')
  t.equal(buffers(8 * GIB), '1024MB')
  t.equal(buffers(256 * GIB), '2048MB')
})

t.test('a crash loses nothing, and recovery time is bounded on any machine', async t => {
  for (const memory of [GIB / 2, 256 * GIB]) {
    t.match(chooseSettings(undefined, memory), {
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      max_wal_size: '512MB'
    })
  }
})

t.test('the log may use a twentieth of the disk, within bounds', async t => {
  const log = (disk: number | undefined) => {
    const { min_wal_size: kept, max_wal_size: most } = chooseSettings(disk, GIB)
    t.equal(kept, most)
    return most
  }
  t.equal(log(undefined), '512MB', 'the size of the disk is unknown')
  t.equal(log(1000 * GIB), '512MB')
  t.equal(log(10 * GIB), '512MB')
  t.equal(log(2 * GIB), '102MB')
  t.equal(log(GIB / 4), '32MB')
})
