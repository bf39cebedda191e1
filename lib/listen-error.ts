/** Explains why the server cannot listen on a port, and names the variable that sets the port. */
import { createServer } from 'node:net'
import { ConfigError } from './variables.ts'

export function listenError(error: NodeJS.ErrnoException, host: string, port: number, variable = 'PORT'): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return new ConfigError(`${variable} ${port} on ${host} is in use by another process`)
    case 'EACCES':
      return new ConfigError(`${variable} ${port} on ${host} cannot be opened by this user`)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new ConfigError(`HOST must be an address on this machine, not ${JSON.stringify(host)}`)
    default:
      return error
  }
}

/**
 * Listens on a port briefly, before the server begins work that takes time or has lasting effects. Throws a ConfigError
 * if the port is unavailable.
 */
export async function tryPort(host: string, port: number, variable = 'PORT'): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', error => reject(listenError(error, host, port, variable)))
    server.listen({ host, port }, resolve)
  })
  await new Promise(resolve => server.close(resolve))
}
