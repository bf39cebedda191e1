/** Implements `spoor user`. Accounts are identified by id, people by e-mail address. */
import type { Sql } from 'postgres'
import { AdminError, InputError } from '../admin-error.ts'
import { dashboardAddress } from '../dashboard-address.ts'
import { EMAIL_RULE, FIRST_USER, foldEmail, readEmail } from '../people/email.ts'
import { faultOfPassword, hashPassword } from '../people/passwords.ts'
import { digestToken, makeToken } from '../people/tokens.ts'
import { isRole, ROLES, type Role } from '../schema/roles.ts'
import { type MemberChange, removeMember, setRole } from '../store/people/members.ts'
import { unlinkIdentities } from '../store/people/oidc.ts'
import { removeFactor } from '../store/people/second-factors.ts'
import { endAllSessions, insertLink, setPassword } from '../store/people/sessions.ts'
import type { UserRow } from '../store/people/users.ts'
import * as store from '../store/people/users.ts'
import { chooseAccount } from './accounts.ts'
import { checkText } from './text.ts'

export interface User extends Omit<UserRow, 'id' | 'memberships'> {
  readonly id: string
  readonly memberships: readonly { readonly account: string; readonly role: Role }[]
}

export interface UserRequest {
  readonly email: string
  readonly name?: string | undefined
  /** Id of the account; defaults to the oldest owner account. */
  readonly accountId?: string | undefined
  /** The user's role; defaults to `member`. */
  readonly role?: string | undefined
}

/** Makes a person a member of an account, creating the user if necessary. */
export async function addUser(sql: Sql, request: UserRequest): Promise<User> {
  const email = readEmail(request.email)
  if (email === undefined && request.email !== FIRST_USER) {
    throw new InputError(`the address ${EMAIL_RULE}, not ${JSON.stringify(request.email)}`)
  }
  const user = {
    email: email ?? FIRST_USER,
    name: checkText('the name', request.name ?? '', 0, 200),
    accountId: await chooseAccount(sql, request.accountId),
    role: requireRole(request.role ?? 'member')
  }
  await store.addUserRow(sql, user)
  return present((await store.findUser(sql, user.email)) as UserRow)
}

export async function listUsers(sql: Sql): Promise<User[]> {
  return (await store.readAllUsers(sql)).map(present)
}

/** Removes a user from one account, or entirely if `accountId` is undefined. */
export async function removeUser(sql: Sql, email: string, accountId?: string): Promise<User> {
  const user = await requireUser(sql, email)
  if (accountId === undefined) {
    if (!(await store.deleteUser(sql, user.id, user.email))) throw lastOwner()
  } else {
    check(await removeMember(sql, { by: null, accountId: Number(requireMembership(user, accountId)) }, user.id))
  }
  return present(user)
}

/** Changes a member's role. The account may be omitted if the user has only one. */
export async function changeRole(sql: Sql, email: string, role: string, accountId?: string): Promise<User> {
  const user = await requireUser(sql, email)
  const account = requireMembership(user, accountId)
  check(await setRole(sql, { by: null, accountId: Number(account) }, user.id, requireRole(role)))
  return present((await store.findUser(sql, user.email)) as UserRow)
}

/** Creates a one-time sign-in link for a user. */
export async function makeLink(sql: Sql, email: string, baseUrl: string): Promise<string> {
  const user = await requireUser(sql, email)
  const token = makeToken()
  await insertLink(sql, user.id, digestToken(token) as string, null)
  return dashboardAddress(baseUrl, token)
}

/** Ends all of a user's sessions and invalidates the user's sign-in links. Returns the number of sessions. */
export async function signOutUser(sql: Sql, email: string): Promise<number> {
  return endAllSessions(sql, (await requireUser(sql, email)).id, null)
}

/** Unlinks a user's OpenID Connect identities. Returns the number of identities. */
export async function unlinkUser(sql: Sql, email: string): Promise<number> {
  return unlinkIdentities(sql, (await requireUser(sql, email)).id)
}

/** Sets a user's password, or removes the password if `password` is undefined, and ends all of the user's sessions. */
export async function changePassword(sql: Sql, email: string, password: string | undefined): Promise<User> {
  const user = await requireUser(sql, email)
  const fault = password === undefined ? undefined : faultOfPassword(password)
  if (fault !== undefined) throw new InputError(`the password ${fault}`)
  await setPassword(sql, user.id, password === undefined ? null : await hashPassword(password), { by: null })
  return present((await store.findUser(sql, user.email)) as UserRow)
}

/** Turns off a user's second factor. Returns false if it was off. */
export async function resetFactor(sql: Sql, email: string): Promise<boolean> {
  return removeFactor(sql, (await requireUser(sql, email)).id, { by: null })
}

/** Returns a user. With `accountId`, the user must be a member of that account. */
export async function findUser(sql: Sql, email: string, accountId?: string): Promise<User> {
  const user = await requireUser(sql, email)
  if (accountId !== undefined) requireMembership(user, accountId)
  return present(user)
}

async function requireUser(sql: Sql, email: string): Promise<UserRow> {
  const user = await store.findUser(sql, foldEmail(email))
  if (user === undefined) throw new AdminError(`there is no user ${JSON.stringify(email)}: see \`spoor user list\``)
  return user
}

function requireRole(text: string): Role {
  if (isRole(text)) return text
  throw new InputError(`the role must be one of ${ROLES.join(', ')}, not ${JSON.stringify(text)}`)
}

/** Returns the requested account, or the user's only account. */
function requireMembership(user: UserRow, accountId: string | undefined): string {
  const accounts = membershipsOf(user).map(({ account }) => account)
  if (accountId === undefined && accounts.length !== 1) {
    throw new AdminError(`${user.email} has ${accounts.length} accounts: select one with --account`)
  }
  const found = accounts.find(account => accountId === undefined || account === accountId)
  if (found !== undefined) return found
  throw new AdminError(`${user.email} is not a member of account ${accountId}: see \`spoor user list\``)
}

function check(change: MemberChange): void {
  if (change === 'last') throw lastOwner()
  if (change === 'missing') throw new AdminError('this member has just been removed')
}

const lastOwner = () =>
  new AdminError(
    'this would leave an account without an owner: add another owner with `spoor user add EMAIL --role owner`'
  )

const membershipsOf = ({ memberships }: UserRow) => JSON.parse(memberships) as User['memberships']

function present(row: UserRow): User {
  const { id, email, name, hasPassword, createdAt, seenAt } = row
  return { id: String(id), email, name, memberships: membershipsOf(row), hasPassword, createdAt, seenAt }
}
