/** Tests the adoption of traces that other processes left on disk. */
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { newDelivery } from '../../../../clients/typescript/send/delivery.ts'
import { Owner } from '../../../../clients/typescript/send/owner.ts'
import { Spool } from '../../../../clients/typescript/send/spool.ts'
import { adoptFiles as look } from '../../../../clients/typescript/send/spool-adoption.ts'
import { testFolder } from '../../../fixtures/folder.ts'

// Some files are named as in version 1.0.0-rc.1. A process with a single key takes such files.
const owner = new Owner({ url: 'http://localhost:8787', key: 'key' }, new Map())
owner.register(undefined)
const adoptFiles = (spool: Spool, most: number) => look(spool, most, { isSettled: true }).files
const deliveryOf = (traceId: string, body = '{}') => newDelivery(traceId, 'agent', [{ kind: 'record', body }])

t.test('an incomplete file is set aside for inspection, and the rest is sent', async t => {
  const folder = await testFolder(t)
  writeFileSync(join(folder, '1-x.spoor'), 'spoor 1 {"traceId":"a"')
  writeFileSync(join(folder, 'notes.txt'), 'somebody else’s')
  const spool = new Spool(folder, 10_000, owner)
  const [broken] = adoptFiles(spool, 10)
  t.equal(spool.read(broken!), undefined)
  spool.release()
  t.same(readdirSync(folder).toSorted(), ['1-x.spoor.broken', 'notes.txt'])
  t.match(readFileSync(join(folder, '1-x.spoor.broken'), 'utf8'), /^spoor 1/)
})

t.test('the folder of an exited process is taken over, and one of another machine after a minute', async t => {
  const folder = await testFolder(t)
  const own = new Spool(folder, 10_000, owner)
  own.write(deliveryOf('a'.repeat(32)))
  const [name] = readdirSync(folder)
  const host = /^sender-(.+)-\d+-[0-9a-f]{8}$/.exec(name!)![1]
  // No process has this id.
  const gone = join(folder, `sender-${host}-${2 ** 30}-00000000`)
  const elsewhere = join(folder, 'sender-otherhost-1-00000000')
  for (const each of [gone, elsewhere]) {
    mkdirSync(each)
    writeFileSync(join(each, '1-x.spoor'), 'x')
  }
  const next = new Spool(folder, 10_000, owner)
  t.equal(adoptFiles(next, 10).length, 1, 'the one of this host')
  t.notOk(existsSync(gone))
  t.ok(existsSync(elsewhere))
  const old = new Date(Date.now() - 120_000)
  utimesSync(elsewhere, old, old)
  t.equal(adoptFiles(next, 10).length, 1)
  t.notOk(existsSync(elsewhere))
  own.release()
  next.release()
})
