/**
 * Determines the client's address. Each proxy appends its caller's address to X-Forwarded-For. Only entries written by
 * trusted proxies (TRUST_PROXY) are used, because clients can forge other entries.
 */
import type { BlockList } from 'node:net'
import { isIP } from 'node:net'
import { isWithin, plainAddress } from '../network-list.ts'

/** Returns the last address that does not belong to a trusted proxy. `peer` is the other end of the socket. */
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

/** Returns an entry's address without its port: `192.0.2.1`, `192.0.2.1:1234`, `2001:db8::1`, `[2001:db8::1]:1234`. */
function addressOf(entry: string): string | undefined {
  const [, bracketed, v4] = /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(entry.trim()) ?? []
  const address = bracketed ?? v4 ?? entry.trim()
  return isIP(address) === 0 ? undefined : plainAddress(address)
}
