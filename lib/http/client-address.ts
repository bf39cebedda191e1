/**
 * Finds the address of the client that sent a request, for the log. Each proxy appends to X-Forwarded-For the address
 * from which it was called. Only entries that our own proxies (TRUST_PROXY) wrote are believed: a client can send the
 * rest itself.
 */
import type { BlockList } from 'node:net'
import { isIP } from 'node:net'
import { isWithin, plainAddress } from '../network-list.ts'

/** The last address that no trusted proxy has. `peer` is the other end of the socket. */
export function clientAddress(peer: string, forwarded: string | undefined, trusted: BlockList | undefined): string {
  let client = plainAddress(peer)
  if (trusted === undefined || forwarded === undefined) return client
  const hops = forwarded.split(',')
  while (hops.length > 0 && isWithin(trusted, client)) {
    const next = addressOf(hops.pop() as string)
    if (next === undefined) break
    client = next
  }
  return client
}

/**
 * The address of an entry, which may have a port: `192.0.2.1`, `192.0.2.1:1234`, `2001:db8::1`, `[2001:db8::1]:1234`.
 */
function addressOf(entry: string): string | undefined {
  const [, bracketed, v4] = /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(entry.trim()) ?? []
  const address = bracketed ?? v4 ?? entry.trim()
  return isIP(address) === 0 ? undefined : plainAddress(address)
}
