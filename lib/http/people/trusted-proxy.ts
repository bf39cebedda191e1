/**
 * Trusts a proxy that signs people in and names the signed-in person in a header. The header is trusted only if the
 * connection comes from one of the proxy's addresses. Otherwise the header proves nothing, because any client can send
 * such a header.
 */
import type { AuthProxy } from '../../config.ts'
import { isWithin, readNetworks } from '../../network-list.ts'

/** Returns the e-mail address that the proxy vouches for, or undefined if the request does not come from the proxy. */
export type Vouching = (peer: string, headers: NodeJS.Dict<string | string[]>) => string | undefined

export function vouchingOf(proxy: AuthProxy | undefined): Vouching {
  const networks = proxy && readNetworks(proxy.from)
  if (proxy === undefined || networks === undefined) return () => undefined
  return (peer, headers) => {
    const value = headers[proxy.header]
    return typeof value === 'string' && value !== '' && isWithin(networks, peer) ? value : undefined
  }
}
