/** A server that accepts the traces of every client, and counts the spans by the numbers in their inputs. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

export interface Sink {
  readonly url: string
  /** Number of spans since the last call; undefined if a body was compressed in a way that Node cannot read. */
  takeCount(): number | undefined
  close(): void
}

export async function startSink(): Promise<Sink> {
  let numbers = new Set<string>()
  let isReadable = true
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    const encoding = request.headers['content-encoding'] ?? 'identity'
    if (encoding === 'gzip' || encoding === 'identity') {
      const text = (encoding === 'gzip' ? gunzipSync(body) : body).toString('latin1')
      for (const [, number] of text.matchAll(/\bm(\d+)m /g)) numbers.add(number!)
    } else isReadable = false
    const status = { '/api/v1/traces': 201, '/runs/batch': 202, '/runs/multipart': 202 }[request.url ?? ''] ?? 200
    const isProtobuf = request.headers['content-type'] === 'application/x-protobuf'
    response.writeHead(status, { 'content-type': isProtobuf ? 'application/x-protobuf' : 'application/json' })
    response.end(isProtobuf ? '' : '{"ok":true}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    takeCount() {
      const count = isReadable ? numbers.size : undefined
      numbers = new Set()
      isReadable = true
      return count
    },
    close() {
      server.close()
      server.closeAllConnections()
    }
  }
}
