import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { Exchange } from '../../../../lib/http/exchange.ts'
import { end } from '../../../../lib/http/reply.ts'
import { Pipelining } from '../../../../lib/http/sockets/pipelining.ts'
import { type Bounds, UnsentAnswers } from '../../../../lib/http/sockets/unsent-answers.ts'
import { until } from '../../../fixtures/until.ts'

const ANSWER = Buffer.alloc(8 * 1024 * 1024)

/** Starts a server whose responses exceed the kernel's buffers, and clients that read nothing until told to. */
async function scene(t: Test, bounds: Partial<Bounds>) {
  const unread = new UnsentAnswers(bounds)
  const line = new Pipelining(unread)
  let served = 0
  const server = createServer((request, response) => {
    line.enter(new Exchange(request, response, undefined, false), () => {
      served++
      end(response, ANSWER)
      // The path is the project's number.
      unread.watch(request.socket, response, ANSWER.length, Number(request.url?.slice(1)))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
    unread.close()
  })
  const send = (times: number, project = 1) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.pause().write(`GET /${project} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(times))
    sockets.push(socket)
    return socket
  }
  return {
    unread,
    served: () => served,
    send,
    async ask(times = 1, project?: number) {
      const before = unread.bytes
      const socket = send(times, project)
      await until(() => unread.bytes > before)
      return socket
    }
  }
}

t.test('counts the bytes that wait for a client, and serves no further request until they are read', async t => {
  const { unread, served, ask } = await scene(t, {})
  const socket = await ask(15)
  await until(() => unread.bytes > ANSWER.length)
  t.ok(unread.bytes < 1.1 * ANSWER.length, 'one response, and the requests that wait behind it')
  t.equal(served(), 1)
  socket.resume()
  await until(() => unread.bytes === 0)
  t.equal(served(), 15)
  t.equal(socket.destroyed, false)
})

t.test('closes a connection without progress', async t => {
  const { unread, ask } = await scene(t, { idleMs: 100 })
  await ask(2)
  await until(() => unread.bytes === 0)
  t.pass('it was released')
})

t.test('distinguishes a response that is being read from one that only waits', async t => {
  const { unread, ask } = await scene(t, { idleMs: 2000 })
  t.equal(unread.isMoving, false, 'there is no response')
  const socket = await ask()
  t.equal(unread.isMoving, true, 'it has started')
  await until(() => !unread.isMoving)
  t.ok(unread.bytes > 0, 'nobody reads it, and it is not given up yet')
  socket.resume()
  await until(() => unread.bytes === 0)
  t.equal(unread.isMoving, false)
})

t.test('keeps a connection with occasional progress', async t => {
  const { unread, ask } = await scene(t, { idleMs: 1000 })
  const socket = await ask(2)
  let read = 0
  socket.on('data', chunk => {
    read += chunk.length
    if (read < 2 ** 20) return
    read = 0
    socket.pause()
    setTimeout(() => socket.resume(), 100)
  })
  socket.resume()
  await until(() => unread.bytes === 0)
  t.equal(socket.destroyed, false)
})

t.test('closes the connections without progress for longest if the total is too large', async t => {
  const { unread, ask, send } = await scene(t, { bytes: ANSWER.length / 2 })
  const first = await ask()
  const second = send(1)
  first.resume()
  await once(first, 'close')
  t.ok(unread.bytes > 0, 'the newer one continues')
  t.ok(unread.bytes < 2 * ANSWER.length)
  second.resume()
  await until(() => unread.bytes === 0)
  t.equal(second.destroyed, false)
})

t.test('if the total is too large, closes connections of the project that has the most', async t => {
  const { unread, ask, send } = await scene(t, { bytes: 2.5 * ANSWER.length })
  const oldest = await ask(1, 2)
  const greedy = await ask(1, 1)
  const newest = send(1, 1)
  greedy.resume()
  await once(greedy, 'close')
  for (const socket of [oldest, newest]) socket.resume()
  await until(() => unread.bytes === 0)
  t.same([oldest.destroyed, newest.destroyed], [false, false])
})

t.test('closes a connection that pipelines too many requests', async t => {
  const { unread, served, send } = await scene(t, { aheadBytes: 100_000 })
  await once(send(100).resume(), 'close')
  await until(() => unread.bytes === 0)
  t.ok(served() < 100)
})
