/**
 * Limits password attempts per e-mail address, and also per network because attackers try many e-mail addresses. A
 * browser in which the person has signed in before has its own count, so that strangers who guess passwords cannot lock
 * a user out.
 */
import { hash } from 'node:crypto'
import { isIPv4 } from 'node:net'
import type { SqlAccess } from '../database/sql-access.ts'
import { Refusal } from '../errors.ts'
import { plainAddress } from '../network-list.ts'
import { countAttempt, readWait, type Subject } from '../store/people/attempts.ts'
import { type FailedSignIn, noteFirstFailure } from '../store/people/failed-sign-ins.ts'
import { isPassword, refuseIfFull } from './passwords.ts'

/** Limits per quarter of an hour (lib/store/people/attempts.ts). */
const MOST_FOR_ADDRESS = 5
const MOST_FROM_DEVICE = 5
const MOST_FROM_NETWORK = 50
/** Failed sign-ins without a password, from one network, that are recorded per quarter of an hour. */
const MOST_NOTED = 50

/** The subjects that an attempt counts against. */
export interface Subjects {
  /** The e-mail address or the device. */
  readonly own: Subject
  /** The client's network; undefined for a device, because strangers in the same network may be guessing passwords. */
  readonly network: Subject | undefined
}

/**
 * Returns the subjects whose attempts are counted when a client tries a password for `email`. `device` names a browser
 * in which this person has signed in; undefined for any other browser.
 */
export function subjectsOf(email: string, client: string, device: string | undefined): Subjects {
  if (device !== undefined)
    return { own: { name: nameOf('device', device), most: MOST_FROM_DEVICE }, network: undefined }
  return {
    own: { name: nameOf('person', email), most: MOST_FOR_ADDRESS },
    network: { name: nameOf('network', networkOf(client)), most: MOST_FROM_NETWORK }
  }
}

/**
 * Resolves to whether the password matches the stored password. An attempt is counted when its check starts. Throws
 * `too_many_attempts`, without counting the attempt, if a limit is exceeded or the queue is full.
 */
export async function tryPassword(
  sql: Pick<SqlAccess, 'read' | 'write'>,
  { own, network }: Subjects,
  password: string,
  stored: string | null
): Promise<boolean> {
  const subjects = network === undefined ? [own] : [own, network]
  const party = (network ?? own).name
  // A full queue is checked first, because reading the limits costs a query.
  refuseIfFull(party)
  refuse(await sql.read(each => readWait(each, subjects)))
  const count = async () => refuse(await sql.write(each => countAttempt(each, subjects)))
  return isPassword(password, stored, party, count)
}

/**
 * Records a failed sign-in that the password limits do not cover. Entries per network are limited, so that a sender
 * with many addresses cannot fill the audit log.
 */
export async function noteUnlimited(sql: Pick<SqlAccess, 'write'>, failed: FailedSignIn): Promise<void> {
  const network = { name: nameOf('failures', networkOf(failed.client)), most: MOST_NOTED }
  await sql.write(async each => {
    if ((await countAttempt(each, [network])) === undefined) await noteFirstFailure(each, failed)
  })
}

function refuse(waitS: number | undefined): void {
  if (waitS === undefined) return
  const message = `Too many password attempts; try again in ${Math.ceil(waitS / 60)} minutes, or use a link.`
  throw new Refusal('too_many_attempts', message, { 'Retry-After': String(waitS) })
}

/**
 * Returns the first 24 bits of an IPv4 address or the first 48 bits of an IPv6 address. A customer of a provider
 * typically has a range of this size.
 */
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

/** Subjects are stored as hashes, which have equal length and reveal no addresses. */
const nameOf = (kind: string, of: string): string => hash('sha256', `${kind} ${of}`, 'hex')
