/** How often passwords may be tried: for an address, and from a network, because who guesses tries many addresses. */
import { hash } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { plainAddress } from '../network-list.ts'
import type { Subject } from '../store/people/passwords.ts'

/** Within a quarter of an hour (lib/store/people/passwords.ts). */
const MOST_FOR_ADDRESS = 5
const MOST_FROM_NETWORK = 50

/** Whose attempts are counted when somebody at `client` tries a password of `email`. */
export function subjectsOf(email: string, client: string): { readonly person: Subject; readonly network: Subject } {
  return {
    person: { name: nameOf('person', email), most: MOST_FOR_ADDRESS },
    network: { name: nameOf('network', networkOf(client)), most: MOST_FROM_NETWORK }
  }
}

/** The first 24 bits of an address of IPv4, and the first 48 of one of IPv6: what one customer has. */
export function networkOf(client: string): string {
  const address = plainAddress(client)
  if (isIPv4(address)) return address.split('.').slice(0, 3).join('.')
  const [head = '', tail] = address.split('%')[0]!.toLowerCase().split('::')
  const groups = head === '' ? [] : head.split(':')
  const rest = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill('0')
  return [...groups, ...zeros, ...rest]
    .slice(0, 3)
    .map(group => group.replace(/^0+(?=.)/, ''))
    .join(':')
}

/** Subjects are stored hashed, so that all are of one length, and nobody reads addresses out of them. */
const nameOf = (kind: string, of: string): string => hash('sha256', `${kind} ${of}`, 'hex')
