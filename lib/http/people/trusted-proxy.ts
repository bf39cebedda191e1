/**
 * A proxy in front that signs people in, and says by a header who it is. It is believed only if the connection comes
 * from one of its addresses: what other headers say of that, anybody can write.
 */
import type { AuthProxy } from '../../config.ts'
import { isWithin, readNetworks } from '../../network-list.ts'

/** Gives the address of the person that the proxy vouches for; undefined if the request does not come from it. */
export type Vouching = (peer: string, headers: NodeJS.Dict<string | string[]>) => string | undefined

export function vouchingOf(proxy: AuthProxy | undefined): Vouching {
  const networks = proxy && readNetworks(proxy.from)
  if (proxy === undefined || networks === undefined) return () => undefined
  return (peer, headers) => {
    const value = headers[proxy.header]
    return typeof value === 'string' && value !== '' && isWithin(networks, peer) ? value : undefined
  }
}
