import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t from 'tap'
import { Connection } from './connection.ts'

const REQUEST = Buffer.from('GET / HTTP/1.1\r\n\r\n')
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'
const FAREWELL = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'

t.test('a connection that the server closes while it is idle is reopened', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const answers: number[] = []
  const connection = new Connection((server.address() as AddressInfo).port, {
    onAnswer: status => answers.push(status),
    // Without the error, the test would wait forever.
    onLost: reason => server.emit('error', new Error(reason))
  })
  t.teardown(() => {
    connection.close()
    server.close()
  })
  const [first] = (await once(server, 'connection')) as [Socket]
  first.end(FAREWELL)
  // When the server's side is closed, the client's side is closed as well.
  await once(first.resume(), 'close')
  connection.send(REQUEST)
  const [second] = (await once(server, 'connection')) as [Socket]
  await once(second, 'data')
  second.end(ANSWER)
  await once(second, 'close')
  connection.send(REQUEST)
  const [third] = (await once(server, 'connection')) as [Socket]
  await once(third, 'data')
  t.strictSame(answers, [200])
})
