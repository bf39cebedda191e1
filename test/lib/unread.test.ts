import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { Unread } from '../../lib/unread.ts'
import { until } from '../fixtures/until.ts'

const ANSWER = Buffer.alloc(8 * 1024 * 1024)

/** A server that answers with more than kernels keep, and clients that read nothing until they are told. */
async function scene(t: Test, bounds: { bytes: number; idleMs: number }) {
  const unread = new Unread(bounds)
  const server = createServer((request, response) => {
    response.end(ANSWER)
    unread.watch(request.socket, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    unread,
    async ask(times = 1) {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      socket.pause().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(times))
      sockets.push(socket)
      await until(() => unread.bytes > 0)
      return socket
    }
  }
}

t.test('counts what waits for a client, until it is taken', async t => {
  const { unread, ask } = await scene(t, { bytes: 2 ** 40, idleMs: 60_000 })
  const socket = await ask(15)
  await until(() => unread.bytes > 14 * ANSWER.length)
  socket.resume()
  await until(() => unread.bytes === 0)
  t.equal(socket.destroyed, false)
})

t.test('closes a connection on which nothing moves', async t => {
  const { unread, ask } = await scene(t, { bytes: 2 ** 40, idleMs: 100 })
  await ask(2)
  await until(() => unread.bytes === 0)
  t.pass('it was let go')
})

t.test('closes those that keep most waiting for longest, but no answer that has just begun', async t => {
  const { unread, ask } = await scene(t, { bytes: ANSWER.length / 2, idleMs: 60_000 })
  const [first, second] = [await ask(), await ask()]
  first.resume()
  await once(first, 'close')
  t.ok(unread.bytes > 0, 'the newer one goes on')
  t.ok(unread.bytes < 2 * ANSWER.length)
  second.resume()
  await until(() => unread.bytes === 0)
  t.equal(second.destroyed, false)
})
