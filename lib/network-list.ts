/** Parses lists of addresses and networks, such as `127.0.0.1` and `10.0.0.0/8`. */
import { BlockList, isIP } from 'node:net'

/** Returns the networks in a list; undefined if an entry is invalid. */
export function readNetworks(list: readonly string[]): BlockList | undefined {
  const networks = new BlockList()
  for (const each of list) {
    const [address = '', bits, ...rest] = each.split('/')
    const version = isIP(address)
    const most = version === 4 ? 32 : 128
    if (version === 0 || rest.length > 0) return undefined
    if (bits !== undefined && (!/^\d{1,3}$/.test(bits) || Number(bits) > most)) return undefined
    networks.addSubnet(address, bits === undefined ? most : Number(bits), version === 4 ? 'ipv4' : 'ipv6')
  }
  return networks
}

/** Returns the address without the prefix that marks IPv4 on a dual-stack socket. */
export const plainAddress = (peer: string): string => peer.replace(/^::ffff:(?=\d+\.)/i, '')

/** Whether a socket's peer has an address in one of the networks. */
export function isWithin(networks: BlockList, peer: string): boolean {
  const address = plainAddress(peer)
  const version = isIP(address)
  return version !== 0 && networks.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** Whether a URL's host is this machine. */
export function isLoopback(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '')
  return address === 'localhost' || address === '::1' || (isIP(address) === 4 && address.startsWith('127.'))
}
