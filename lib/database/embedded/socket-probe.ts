/** Checks whether a process listens on a Unix socket. */
import { connect } from 'node:net'

export function isListening(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(path)
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    // Any other error comes from a socket that has a listener.
    socket.on('error', (error: NodeJS.ErrnoException) =>
      resolve(!['ECONNREFUSED', 'ENOENT'].includes(error.code ?? ''))
    )
  })
}
