/** Traces on disk are passed between processes that start and end. */
import { readdirSync } from 'node:fs'
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

t.test('files are written, read, replaced, removed, and left to the next process', async t => {
  const folder = join(await testFolder(t), 'spool')
  const spool = new Spool(folder, 10_000, owner)
  const [one, other] = [deliveryOf('a'.repeat(32)), deliveryOf('b'.repeat(32))]
  spool.write(one)
  spool.write(other)
  t.match(spool.read(one.file!), { traceId: one.traceId, name: 'agent', parts: [{ kind: 'record', body: '{}' }] })
  const { file } = one
  one.parts = [{ kind: 'end', body: '{"a":1}' }]
  spool.write(one)
  t.equal(one.file, file, 'replacing its file')
  t.match(spool.read(file!), { parts: [{ kind: 'end' }] })
  spool.remove(file!)
  t.equal(spool.read(file!), undefined)
  spool.release()
  t.equal(readdirSync(folder).length, 1, 'one file, and no folder')

  const next = new Spool(folder, 10_000, owner)
  const adopted = adoptFiles(next, 10)
  t.equal(adopted.length, 1)
  t.match(next.read(adopted[0]!), { traceId: other.traceId })
  t.same(adoptFiles(new Spool(folder, 10_000, owner), 10), [], "one process's files are not taken by another")
  next.release()
})

t.test('the spool has a maximum size, and a rejected write leaves nothing', async t => {
  const folder = await testFolder(t)
  const spool = new Spool(folder, 400, owner)
  const small = deliveryOf('a'.repeat(32))
  spool.write(small)
  t.throws(() => spool.write(deliveryOf('b'.repeat(32), 'x'.repeat(400))), {
    message: /the spool is full: it has 400 bytes/
  })
  spool.remove(small.file!)
  spool.write(deliveryOf('c'.repeat(32)))
  spool.release()
  t.equal(readdirSync(folder).length, 1)
})
