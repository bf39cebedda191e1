/** Traces on disk, between processes that come and go. */
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { adoptFiles as look } from '../../../../lib/client/send/adopt.ts'
import { newDelivery } from '../../../../lib/client/send/delivery.ts'
import { Owner } from '../../../../lib/client/send/owner.ts'
import { Spool } from '../../../../lib/client/send/spool.ts'
import { testFolder } from '../../../fixtures/folder.ts'

const owner = new Owner({ url: 'http://localhost:8787', key: 'key' })
owner.register(undefined)
const adoptFiles = (spool: Spool, most: number) => look(spool, most, { isSettled: true }).files
const deliveryOf = (traceId: string, body = '{}') => newDelivery(traceId, 'agent', [{ kind: 'record', body }])

t.test('what is written is read, replaced, removed, and left to the next process', async t => {
  const folder = join(await testFolder(t), 'spool')
  const spool = new Spool(folder, 10_000, owner)
  const [one, other] = [deliveryOf('a'.repeat(32)), deliveryOf('b'.repeat(32))]
  spool.write(one)
  spool.write(other)
  t.match(spool.read(one.file!), { traceId: one.traceId, name: 'agent', parts: [{ kind: 'record', body: '{}' }] })
  const { file } = one
  one.parts = [{ kind: 'end', body: '{"a":1}' }]
  spool.write(one)
  t.equal(one.file, file, 'in the place of its file')
  t.match(spool.read(file!), { parts: [{ kind: 'end' }] })
  spool.remove(file!)
  t.equal(spool.read(file!), undefined)
  spool.release()
  t.equal(readdirSync(folder).length, 1, 'one file, and no folder')

  const next = new Spool(folder, 10_000, owner)
  const adopted = adoptFiles(next, 10)
  t.equal(adopted.length, 1)
  t.match(next.read(adopted[0]!), { traceId: other.traceId })
  t.same(adoptFiles(new Spool(folder, 10_000, owner), 10), [], 'what one process sends, no other takes')
  next.release()
})

t.test('there is room for so many bytes, and what is refused leaves nothing', async t => {
  const folder = await testFolder(t)
  const spool = new Spool(folder, 400, owner)
  const small = deliveryOf('a'.repeat(32))
  spool.write(small)
  t.throws(() => spool.write(deliveryOf('b'.repeat(32), 'x'.repeat(400))), { message: /the spool has its 400 bytes/ })
  spool.remove(small.file!)
  spool.write(deliveryOf('c'.repeat(32)))
  spool.release()
  t.equal(readdirSync(folder).length, 1)
})

t.test('a file that is no whole trace is put aside for people, and the rest goes on', async t => {
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

t.test('the folder of a process that is gone is taken over, that of one elsewhere after a minute', async t => {
  const folder = await testFolder(t)
  const own = new Spool(folder, 10_000, owner)
  own.write(deliveryOf('a'.repeat(32)))
  const [name] = readdirSync(folder)
  const host = /^sender-(.+)-\d+-[0-9a-f]{8}$/.exec(name!)![1]
  // No process has this number.
  const gone = join(folder, `sender-${host}-${2 ** 30}-00000000`)
  const elsewhere = join(folder, 'sender-otherhost-1-00000000')
  for (const each of [gone, elsewhere]) {
    mkdirSync(each)
    writeFileSync(join(each, '1-x.spoor'), 'x')
  }
  const next = new Spool(folder, 10_000, owner)
  t.equal(adoptFiles(next, 10).length, 1, 'that of this host')
  t.notOk(existsSync(gone))
  t.ok(existsSync(elsewhere))
  const old = new Date(Date.now() - 120_000)
  utimesSync(elsewhere, old, old)
  t.equal(adoptFiles(next, 10).length, 1)
  t.notOk(existsSync(elsewhere))
  own.release()
  next.release()
})
