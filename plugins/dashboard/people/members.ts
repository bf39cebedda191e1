/** Routes that let owners manage account members. Nothing is mailed: an owner passes on the sign-in link. */

import Type from 'typebox'
import type { App } from '../../../lib/app.ts'
import { dashboardAddress } from '../../../lib/dashboard-address.ts'
import { Refusal } from '../../../lib/errors.ts'
import { found, refuseField } from '../../../lib/http/refuse.ts'
import type { RequestOf } from '../../../lib/http/route.ts'
import { EMAIL_RULE, readEmail } from '../../../lib/people/email.ts'
import { digestToken, makeToken } from '../../../lib/people/tokens.ts'
import { closed } from '../../../lib/schema/object.ts'
import { ROLES } from '../../../lib/schema/roles.ts'
import {
  inviteMember,
  isElsewhere,
  linkMember,
  listMembers,
  type MemberChange,
  type MemberRow,
  readMember,
  readRequiresFactor,
  removeMember,
  setRequiresFactor,
  setRole
} from '../../../lib/store/people/members.ts'
import { removeFactor } from '../../../lib/store/people/second-factors.ts'
import { bodyReader, IN_PROJECT, pageRoute, readId } from '../page-routes.ts'
import { DoneReply, InvitationReply, MembersReply, OneMemberReply, SignInLinkReply } from '../replies.ts'

const MEMBER = `${IN_PROJECT}/members/:userId`
const Role = Type.Enum([...ROLES])
const InvitationBody = closed({ email: Type.String({ maxLength: 500 }), role: Role })
const RoleBody = closed({ role: Role })
const RuleBody = closed({ requiresFactor: Type.Boolean() })

const OWN_FIRST = 'Turn on two-step sign-in for yourself first, under Account.'
const ELSEWHERE =
  'This member also belongs to other accounts, so two-step sign-in can be turned off only with ' +
  '`spoor user reset-codes` on the server.'

type Asking = Pick<RequestOf<unknown>, 'visitor' | 'project'>
type ActingRequest = Pick<RequestOf<unknown>, 'visitor' | 'project' | 'client'>

export default function members(app: App): void {
  const { sql } = app
  const readInvitation = bodyReader(InvitationBody)
  const readRole = bodyReader(RoleBody)
  const readRule = bodyReader(RuleBody)

  pageRoute(app, {
    method: 'GET',
    path: `${IN_PROJECT}/members`,
    access: 'owner',
    replies: { 200: MembersReply },
    async handler(request) {
      const { project, visitor } = request
      const { accountId } = project
      const rows = await sql.read(each => listMembers(each, accountId), request)
      const requiresFactor = await sql.read(each => readRequiresFactor(each, accountId), request)
      return { body: { members: rows.map(row => shown(row, visitor.userId)), requiresFactor } }
    }
  })

  pageRoute(app, {
    method: 'PATCH',
    path: `${IN_PROJECT}/members`,
    access: 'owner',
    fresh: true,
    smallBody: true,
    replies: { 200: DoneReply },
    async handler(request) {
      const { requiresFactor } = readRule(request.payload)
      const { hasPassword, hasFactor } = request.visitor
      if (requiresFactor && hasPassword && !hasFactor) throw new Refusal('conflict', OWN_FIRST)
      await sql.write(each => setRequiresFactor(each, acting(request), requiresFactor))
      return { body: { ok: true } }
    }
  })

  pageRoute(app, {
    method: 'DELETE',
    path: `${MEMBER}/factor`,
    access: 'owner',
    fresh: true,
    replies: { 200: DoneReply },
    async handler(request) {
      const userId = await requireMember(request)
      const { by, accountId, client } = acting(request)
      if (await sql.read(each => isElsewhere(each, accountId, userId))) throw new Refusal('conflict', ELSEWHERE)
      await sql.write(each => removeFactor(each, userId, { by, accountId, client }))
      return { body: { ok: true } }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: `${IN_PROJECT}/members`,
    access: 'owner',
    fresh: true,
    smallBody: true,
    replies: { 201: InvitationReply },
    async handler(request) {
      const { email: given, role } = readInvitation(request.payload)
      const email = readEmail(given) ?? refuseField('email', EMAIL_RULE)
      const token = makeToken()
      const invitation = { email, role, link: digestToken(token) as string }
      const invited = await sql.write(each => inviteMember(each, acting(request), invitation))
      if (invited === 'known') throw new Refusal('conflict', 'email: is already a member of this account')
      if (invited === 'elsewhere') {
        const rule = 'is a member of another account, so only `spoor user add` on the server can add them'
        throw new Refusal('conflict', `email: ${rule}`)
      }
      return { status: 201, body: { member: await readShown(request, invited), link: linkOf(request, token) } }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: `${MEMBER}/link`,
    access: 'owner',
    fresh: true,
    replies: { 201: SignInLinkReply },
    async handler(request) {
      const userId = await requireMember(request)
      const token = makeToken()
      const isLinked = await sql.write(each => linkMember(each, acting(request), userId, digestToken(token) as string))
      if (!isLinked) {
        const rule =
          'a link would open their other accounts as well, so only `spoor user link` on the server can create one'
        throw new Refusal('conflict', `This member has other accounts: ${rule}.`)
      }
      return { status: 201, body: { link: linkOf(request, token) } }
    }
  })

  pageRoute(app, {
    method: 'PATCH',
    path: MEMBER,
    access: 'owner',
    fresh: true,
    smallBody: true,
    replies: { 200: OneMemberReply },
    async handler(request) {
      const { role } = readRole(request.payload)
      const userId = await requireMember(request)
      const actor = { ...acting(request), keep: request.visitor.session }
      check(await sql.write(each => setRole(each, actor, userId, role)))
      return { body: { member: await readShown(request, userId) } }
    }
  })

  pageRoute(app, {
    method: 'DELETE',
    path: MEMBER,
    access: 'owner',
    fresh: true,
    replies: { 200: DoneReply },
    async handler(request) {
      const userId = await requireMember(request)
      check(await sql.write(each => removeMember(each, acting(request), userId)))
      return { body: { ok: true } }
    }
  })

  /** Returns the id of the user in the path. Throws `not_found` unless the user is a member of the account. */
  async function requireMember({ params, project }: Pick<RequestOf<unknown>, 'params' | 'project'>): Promise<number> {
    const id = readId(params.userId)
    const member = id === undefined ? undefined : await sql.read(each => readMember(each, project.accountId, id))
    return found(member, 'member in this account').id
  }

  /** Returns a member in the form that the page shows; undefined if another owner has just removed the member. */
  async function readShown({ project, visitor }: Asking, userId: number) {
    const row = await sql.read(each => readMember(each, project.accountId, userId))
    return row && shown(row, visitor.userId)
  }
}

const acting = ({ visitor, project, client }: ActingRequest) => ({
  by: visitor.userId,
  accountId: project.accountId,
  client
})

const shown = (row: MemberRow, own: number) => ({ ...row, own: row.id === own })

const linkOf = ({ baseUrl }: Pick<RequestOf<unknown>, 'baseUrl'>, token: string) => dashboardAddress(baseUrl, token)

function check(change: MemberChange): void {
  if (change === 'last')
    throw new Refusal('conflict', 'This would leave the account without an owner. Add another owner first.')
  if (change === 'missing') throw new Refusal('not_found', 'There is no such member in this account.')
}
