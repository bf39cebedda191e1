/**
 * The least that a node:http server can do: it reads the body and responds. It runs as a separate process and prints
 * its port.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const answer = JSON.stringify({
  ok: true,
  traceId: 'f'.repeat(32),
  projectId: '1',
  spanCount: 8,
  duplicate: false,
  running: false,
  requestId: '0'.repeat(24)
})
const headers = {
  'content-type': 'application/json',
  'content-length': Buffer.byteLength(answer),
  'cache-control': 'no-store',
  'x-request-id': '0'.repeat(24)
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    Buffer.concat(chunks)
    response.writeHead(201, headers).end(answer)
  })
})
// At a low rate, a connection may stay idle for any length of time.
server.keepAliveTimeout = 0
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())
process.on('SIGINT', () => {})
