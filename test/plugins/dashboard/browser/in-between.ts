/** A proxy that can serve the dashboard under a path, and can stop responding for a while. */
import { createServer, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Test } from 'tap'

export interface InBetween {
  /** The address for browsers, without a trailing slash. */
  readonly address: string
  /** Sets the server to which requests are forwarded from now on. */
  leadTo(url: string): void
  /** If true, the proxy stops responding and closes connections. If false, it responds again. */
  setAway(away: boolean): void
}

export async function putInBetween(t: Test, path = ''): Promise<InBetween> {
  let target = ''
  let isAway = false
  const sockets = new Set<Socket>()
  const server = createServer((incoming, outgoing) => {
    if (isAway) {
      incoming.socket.destroy()
      return
    }
    if (!incoming.url!.startsWith(path)) {
      outgoing.writeHead(404).end('another application')
      return
    }
    const { hostname, port } = new URL(target)
    const { method, headers } = incoming
    const onward = request(
      { hostname, port, method, headers, path: incoming.url!.slice(path.length) || '/' },
      answer => {
        outgoing.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(outgoing)
      }
    )
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    if (isAway) socket.destroy()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const end = () => {
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(() => {
    end()
    server.close()
  })
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    leadTo(url) {
      target = url
    },
    setAway(away) {
      isAway = away
      if (away) end()
    }
  }
}
