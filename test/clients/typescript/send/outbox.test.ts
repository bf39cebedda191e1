/** Tests deliveries that wait because sending is impossible. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { Outbox } from '../../../../clients/typescript/send/outbox.ts'
import { Owner } from '../../../../clients/typescript/send/owner.ts'
import { Sender } from '../../../../clients/typescript/send/sender.ts'
import { Spool } from '../../../../clients/typescript/send/spool.ts'
import { Transport } from '../../../../clients/typescript/send/transport.ts'
import { testFolder } from '../../../fixtures/folder.ts'

const id = (letter: string) => letter.repeat(32)
const part = (text: string) => ({ kind: 'record', body: JSON.stringify(text) }) as const

t.test('if the sender fails to load, nothing is lost, the problem is reported, and loading is retried', async t => {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    bodies.push(Buffer.concat(await request.toArray()).toString())
    response.writeHead(201).end('{"ok":true}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const transport = new Transport({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'k' })
  t.teardown(async () => {
    await transport.close()
    server.close()
    server.closeAllConnections()
  })
  const said: string[] = []
  let isThere = false
  const options = { memoryBytes: 10_000, onProblem: (problem: string) => said.push(problem) }
  const outbox: Outbox = new Outbox(options, async () => {
    if (!isThere) throw new Error('no such file')
    return new Sender(outbox, transport)
  })
  outbox.add(id('a'), 'one', part('1'))
  t.match(await outbox.flush(), { sent: 0, kept: 1, lostCount: 0 })
  t.same(said, ['nothing can be sent: no such file'])
  isThere = true
  outbox.add(id('b'), 'two', part('2'))
  t.match(await outbox.flush(), { sent: 2, kept: 0, lostCount: 0 })
  t.same(bodies.sort(), ['"1"', '"2"'])
  t.equal(outbox.bytes, 0)
})

t.test('beyond its limit, memory moves waiting traces to disk, and reads them back for later parts', async t => {
  const folder = join(await testFolder(t), 'spool')
  const spool = new Spool(folder, 10_000, new Owner({ url: 'http://localhost', key: 'k' }))
  const outbox = new Outbox({ spool, memoryBytes: 1000, onProblem: () => {} }, () => new Promise(() => {}))
  for (const letter of ['a', 'b', 'c', 'd', 'e', 'f']) outbox.add(id(letter), letter, part('x'.repeat(300)))
  const unloaded = outbox.queue.filter(({ parts }) => parts === undefined)
  t.ok(unloaded.length > 0)
  t.ok(outbox.bytes <= 1000)
  const [first] = unloaded
  outbox.add(first!.traceId, first!.name, { kind: 'score', body: '{}' })
  t.match(spool.read(first!.file!)?.parts, [{ kind: 'record' }, { kind: 'score' }])
  t.equal(outbox.saveAll(), 0)
  t.equal(outbox.queue.filter(({ file }) => file === undefined).length, 0)

  spool.remove(first!.file!)
  outbox.add(first!.traceId, first!.name, { kind: 'score', body: '{}' })
  const { kept, lost } = await outbox.flush({ timeoutMs: 1 })
  t.equal(kept, 5)
  t.match(lost, [{ traceId: first!.traceId, reason: /is gone or broken$/ }])
})
