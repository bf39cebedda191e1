import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createSocketServer } from 'node:net'
import t, { type Test } from 'tap'
import { Refusal } from '../../../lib/errors.ts'
import { Exchange } from '../../../lib/http/exchange.ts'
import { end, envelope, sendRawRefusal, sendRefusal, sendReply, sendStream } from '../../../lib/http/reply.ts'
import { Content, JsonPieces, JsonStream, JsonText } from '../../../lib/http/route.ts'
import { MAX_BODY_BYTES } from '../../../lib/schema/input.ts'

/** Starts a server that answers every request with `answer`. Returns the server's address. */
async function serve(t: Test, answer: (exchange: Exchange) => void): Promise<{ url: string; port: number }> {
  const server = createServer((request, response) => answer(new Exchange(request, response, undefined, false)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port }
}

t.test('every kind of body is sent with its length and its type', async t => {
  const table: [body: unknown, type: string | null, text: string][] = [
    [{ é: 1 }, 'application/json', '{"é":1}'],
    [new JsonText('{"n":1e400}'), 'application/json', '{"n":1e400}'],
    [new JsonPieces([Buffer.from('{"a":"é'), Buffer.from('"}')]), 'application/json', '{"a":"é"}'],
    [new JsonPieces([]), 'application/json', ''],
    [new Content('text/plain; charset=utf-8', 'é'), 'text/plain; charset=utf-8', 'é'],
    [new Content('image/svg+xml', Buffer.from('<svg/>')), 'image/svg+xml', '<svg/>'],
    [undefined, null, '']
  ]
  for (const [body, type, text] of table) {
    const sizes: number[] = []
    const { url } = await serve(t, exchange => {
      sendReply(exchange, { body })
      sizes.push(exchange.bytesOut)
    })
    const response = await fetch(url)
    t.equal(response.status, 200)
    t.equal(response.headers.get('content-type'), type)
    t.equal(response.headers.get('content-length'), String(Buffer.byteLength(text)))
    t.equal(response.headers.get('cache-control'), 'no-store')
    t.match(response.headers.get('x-request-id'), /^[0-9a-z]{24}$/)
    t.equal(await response.text(), text)
    const head = await fetch(url, { method: 'HEAD' })
    t.equal(head.headers.get('content-length'), String(Buffer.byteLength(text)), 'HEAD also has the length')
    t.equal(await head.text(), '')
    t.strictSame(sizes, [Buffer.byteLength(text), 0], 'the data for the log')
  }
})

t.test(
  'parts are sent in order, whatever their sizes, and a client that disconnects half-way does no harm',
  async t => {
    const sizes = [1, 65_536, 0, 700_000, 3, 65_537, 2_000_000]
    const pieces = sizes.map((size, i) => Buffer.alloc(size, 48 + i))
    const { url, port } = await serve(t, exchange => sendReply(exchange, { body: new JsonPieces(pieces) }))
    const response = await fetch(url)
    t.ok(Buffer.concat(pieces).equals(Buffer.from(await response.arrayBuffer())))
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'))
    await once(socket, 'data')
    socket.destroy()
    t.equal((await fetch(url)).headers.get('content-length'), String(sizes.reduce((sum, size) => sum + size)))
  }
)

t.test('a response that is sent while it is generated arrives whole, or is cut off visibly', async t => {
  const failures: unknown[] = []
  const streamOf = (items: readonly string[], fails: boolean) =>
    new JsonStream(async writer => {
      await writer.head('[')
      for (const item of items) await writer.item(item, item.length)
      await writer.foot(']')
      if (fails) throw new Refusal('unavailable', 'away')
    })
  const long = Array.from({ length: 40 }, (_, i) => String(i % 10).repeat(10_000))
  const serveStream = (stream: JsonStream) =>
    serve(t, exchange => {
      void sendStream(exchange, {}, stream, () => {}).catch(error => {
        failures.push(error.message)
        if (!exchange.response.headersSent) sendRefusal(exchange, error)
      })
    })
  const whole = await fetch((await serveStream(streamOf(['"Ã©"', '1'], false))).url)
  t.equal(whole.headers.get('content-length'), null)
  t.equal(await whole.text(), '["é",1]', 'each character is a byte')
  const { url } = await serveStream(streamOf(long, false))
  t.equal(await (await fetch(url)).text(), `[${long.join(',')}]`)
  t.equal(await (await fetch(url, { method: 'HEAD' })).text(), '')

  const early = await fetch((await serveStream(streamOf([], true))).url)
  t.equal(early.status, 503, 'nothing has been sent yet')
  const late = await fetch((await serveStream(streamOf(long, true))).url)
  t.equal(late.status, 200)
  await t.rejects(late.text())
  t.same(failures, ['away', 'away'])
})

t.test("a response and its route's guard add headers, and may allow caching", async t => {
  const { url } = await serve(t, exchange => {
    exchange.guardHeaders = { Vary: 'Origin' }
    sendReply(exchange, { status: 304, headers: { ETag: '"x"', 'cache-control': 'public, max-age=300' } })
    sendReply(exchange, { body: 'a second answer is none' })
  })
  const { status, headers } = await fetch(url)
  t.equal(status, 304)
  const expected = { vary: 'Origin', etag: '"x"', 'cache-control': 'public, max-age=300', 'content-length': null }
  for (const [name, value] of Object.entries(expected)) t.equal(headers.get(name), value, name)
})

t.test('a refusal is the error envelope, with the details that its code requires', async t => {
  const table: [Refusal, number | undefined, number, object][] = [
    [new Refusal('invalid_api_key', 'no'), undefined, 401, { 'www-authenticate': 'Bearer', 'retry-after': null }],
    [new Refusal('quota_exhausted', 'later'), undefined, 429, { 'retry-after': /^\d+$/ }],
    [new Refusal('unavailable', 'away'), undefined, 503, { 'retry-after': /^\d+$/ }],
    [new Refusal('invalid_request', 'slow'), 408, 408, { 'retry-after': null }]
  ]
  for (const [refusal, given, status, expected] of table) {
    const { url } = await serve(t, exchange => sendRefusal(exchange, refusal, given))
    const response = await fetch(url)
    const requestId = response.headers.get('x-request-id')
    t.equal(response.status, status)
    t.strictSame(await response.json(), { error: { code: refusal.code, message: refusal.message, requestId } })
    t.match(Object.fromEntries(Object.keys(expected).map(name => [name, response.headers.get(name)])), expected)
  }
  t.equal(
    envelope('invalid_json', 'a "b"', 'r'),
    '{"error":{"code":"invalid_json","message":"a \\"b\\"","requestId":"r"}}'
  )
})

t.test('a large response arrives whole, and is not buffered all at once', async t => {
  // The body is larger than the kernel's buffers.
  const large = Buffer.alloc(16 * 1024 * 1024, 'abcdefg')
  for (const bytes of ['é'.repeat(100_000), large]) {
    let waiting = 0
    const { url } = await serve(t, ({ response }: { response: ServerResponse }) => {
      end(response, bytes)
      waiting = response.writableLength
    })
    t.ok(Buffer.from(bytes as string).equals(Buffer.from(await (await fetch(url)).arrayBuffer())))
    t.ok(waiting < 200_000, `${waiting} bytes wait`)
  }
})

t.test('a client that still sends an unread body gets the whole response before the connection closes', async t => {
  const { port } = await serve(t, exchange => sendRefusal(exchange, new Refusal('payload_too_large', 'too much')))
  const socket = connect(port, '127.0.0.1')
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${MAX_BODY_BYTES + 1}\r\n\r\n`)
  const [answer] = await once(socket, 'data')
  t.match(String(answer), /^HTTP\/1\.1 413 .*\r\n[\s\S]*connection: close\r\n[\s\S]*"too much"/i)
  for (let sent = 0; sent < MAX_BODY_BYTES; sent += 65_536) socket.write(Buffer.alloc(65_536))
  socket.end('x')
  socket.resume()
  t.strictSame(await once(socket, 'close'), [false], 'it is ended, not reset')
})

t.test('requests that Node cannot parse get a response, and the socket is closed', async t => {
  const server = createSocketServer(socket => sendRawRefusal(socket, 431, 'too many headers')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let text = ''
  for await (const chunk of socket) text += chunk
  const [head, body] = text.split('\r\n\r\n') as [string, string]
  t.match(head, /^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/)
  const id = /X-Request-Id: (\w+)/.exec(head)?.[1]
  t.match(head, new RegExp(`Content-Length: ${body.length}\r\nConnection: close$`))
  t.strictSame(JSON.parse(body), { error: { code: 'invalid_request', message: 'too many headers', requestId: id } })
})
