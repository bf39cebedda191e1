import fc from 'fast-check'
import type { Sql } from 'postgres'
import t, { type Test } from 'tap'
import { createAccount } from '../../../../lib/admin/accounts.ts'
import { digestToken, makeToken } from '../../../../lib/people/tokens.ts'
import { signInByOidc, unlinkIdentities } from '../../../../lib/store/people/oidc.ts'
import { insertLink, setPassword, signInByLink, touchSessions } from '../../../../lib/store/people/sessions.ts'
import { addUserRow, deleteUser, findUser } from '../../../../lib/store/people/users.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { runs } from '../../../torture/orders.ts'

const ISSUER = 'https://id.example'
const newSession = () => ({ digest: digestToken(makeToken())!, agent: '', replaces: undefined })

type Role = 'viewer' | 'member'
interface Arrival {
  readonly subject: string
  readonly email: string
  readonly proof?: 'verified' | 'trusted' | undefined
  readonly role?: Role | undefined
}

const arrive = (sql: Sql, { subject, email, proof, role }: Arrival, issuer = ISSUER) =>
  signInByOidc(sql, { issuer, subject, authTime: undefined }, { email, proof, name: '', role }, newSession())

/** Creates the oldest owner account, in which a provider assigns roles, and a second account. */
async function setUp(t: Test) {
  const { pool } = await testDatabase(t)
  const [own, other] = await pool.run(async sql => [
    Number((await createAccount(sql, 'own', 'owner')).id),
    Number((await createAccount(sql, 'other', 'owner')).id)
  ])
  return { pool, own: own!, other: other! }
}

/** Facts about a person, in the order in which they are compared. */
interface Known {
  readonly subjects: Set<string>
  /** The membership in the oldest owner account. */
  member: { readonly role: Role; readonly byClaim: boolean } | undefined
  /** Whether the person belongs to the other account as well. */
  isElsewhere: boolean
  hasPassword: boolean
  links: number
  sessions: number
  /**
   * Whether the identity is linked to the person only by the address; undefined if the address never linked them, or no
   * longer does.
   */
  isEarly: boolean | undefined
}

type Step =
  | ({ readonly kind: 'arrive' } & Arrival)
  | { readonly kind: 'add'; readonly email: string; readonly role: Role; readonly isElsewhere: boolean }
  | { readonly kind: 'equip' | 'remove' | 'unlink'; readonly email: string }
  | { readonly kind: 'early'; readonly email: string; readonly isEarly: boolean }

/** Models the rules for all known people, by address. */
class Model {
  readonly people = new Map<string, Known>()
  readonly entries: string[] = []

  arrive({ subject, email, proof, role }: Arrival): string {
    const identified = [...this.people].find(([, { subjects }]) => subjects.has(subject))
    const named = this.people.get(email)
    if (identified !== undefined) return this.#enter(identified[0], identified[1], role)
    if (named === undefined) {
      if (role === undefined) return 'unknown'
      if (proof === undefined) return 'unproven'
      const subjects = new Set([subject])
      const member = { role, byClaim: true }
      const rest = { isElsewhere: false, hasPassword: false, links: 0, sessions: 1, isEarly: undefined }
      this.people.set(email, { subjects, member, ...rest })
      this.entries.push(`oidc.link ${subject} ${proof}`)
      return email
    }
    const why = proof ?? (named.isEarly ? 'before' : undefined)
    if (named.subjects.size > 0 || why === undefined) {
      const reason = named.subjects.size > 0 ? 'taken' : 'unproven'
      this.entries.push(`oidc.refuse ${subject} ${reason}`)
      return reason
    }
    const end = this.#enter(email, named, role)
    if (end !== email) return end
    named.subjects.add(subject)
    named.isEarly = undefined
    this.entries.push(`oidc.link ${subject} ${why}`)
    return email
  }

  #enter(email: string, known: Known, role: Role | undefined): string {
    const { member } = known
    if (member === undefined && role !== undefined) {
      // The owner of another account may have created the password, the links and the sessions.
      Object.assign(known, { member: { role, byClaim: true }, hasPassword: false, links: 0, sessions: 0 })
      known.isEarly = undefined
    } else if (member?.byClaim && member.role !== role) {
      known.sessions = 0
      if (role === undefined) known.links = 0
      known.member = role && { role, byClaim: true }
    }
    if (known.member === undefined && !known.isElsewhere) return 'unknown'
    known.sessions++
    return email
  }

  /** Removes a person's identities. Returns their number. */
  unlink(email: string): number {
    const known = this.people.get(email)!
    const count = known.subjects.size
    known.isEarly = undefined
    if (count === 0) return 0
    known.subjects.clear()
    known.sessions = 0
    known.links = 0
    this.entries.push(`oidc.unlink ${email}`)
    return count
  }
}

const emailOf = fc.constantFrom('a@x.example', 'b@x.example', 'c@x.example')
const arrival = fc.record({
  kind: fc.constant('arrive' as const),
  subject: fc.constantFrom('one', 'two', 'three'),
  email: emailOf,
  proof: fc.constantFrom('verified', 'trusted', undefined),
  role: fc.constantFrom('viewer', 'member', undefined)
})
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: arrival },
  fc.record({
    kind: fc.constant('add' as const),
    email: emailOf,
    role: fc.constantFrom('viewer', 'member'),
    isElsewhere: fc.boolean()
  }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('equip', 'remove', 'unlink'), email: emailOf }) },
  fc.record({ kind: fc.constant('early' as const), email: emailOf, isEarly: fc.boolean() })
)

t.test('any history of sign-ins, by any subject and address, follows the rules', async t => {
  const { pool, own, other } = await setUp(t)
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), steps =>
      pool.run(async sql => {
        await sql`delete from users`
        await sql`delete from audit`
        const model = new Model()
        for (const each of steps) {
          const { email } = each
          const known = model.people.get(email)
          if (each.kind === 'arrive') {
            const end = await arrive(sql, each)
            const said = typeof end === 'string' ? end : await emailById(sql, end)
            t.equal(said, model.arrive(each), JSON.stringify(each))
          } else if (each.kind === 'add') {
            if (known !== undefined) continue
            const { role, isElsewhere } = each
            await addUserRow(sql, { email, name: '', role, accountId: isElsewhere ? other : own })
            model.people.set(email, {
              subjects: new Set(),
              member: isElsewhere ? undefined : { role, byClaim: false },
              isElsewhere,
              hasPassword: false,
              links: 0,
              sessions: 0,
              isEarly: undefined
            })
          } else if (known === undefined) {
            continue
          } else if (each.kind === 'early') {
            const days = each.isEarly ? 1 : -1
            await sql`update users set oidc_email_until = now() + ${days} * interval '1 day' where email = ${email}`
            known.isEarly = each.isEarly
          } else {
            const { id } = (await findUser(sql, email))!
            if (each.kind === 'equip') {
              await setPassword(sql, id, 'stored', { by: null })
              await insertLink(sql, id, newSession().digest, null)
              Object.assign(known, { hasPassword: true, links: 1, sessions: 0 })
            } else if (each.kind === 'remove') {
              t.equal(await deleteUser(sql, id, email), true)
              model.people.delete(email)
            } else t.equal(await unlinkIdentities(sql, id), model.unlink(email))
          }
          t.strictSame(await readPeople(sql, own, other), inOrder(model.people), JSON.stringify(each))
        }
        t.strictSame(await readAudit(sql), model.entries)
      })
    ),
    runs(40)
  )
})

async function emailById(sql: Sql, id: number): Promise<string> {
  const [row] = await sql<{ email: string }[]>`select email from users where id = ${id}`
  return row!.email
}

/** Returns all people in the model's order. */
const inOrder = (people: ReadonlyMap<string, Known>) =>
  [...people]
    .map(([email, { subjects, member, ...rest }]) => ({
      email,
      subjects: [...subjects].sort(),
      role: member?.role ?? null,
      byClaim: member?.byClaim ?? null,
      ...rest,
      isEarly: rest.isEarly ?? null
    }))
    .sort((a, b) => (a.email < b.email ? -1 : 1))

async function readPeople(sql: Sql, own: number, other: number) {
  const rows = await sql`
    select u.email,
      array(select i.subject from oidc_identities i where i.user_id = u.id order by i.subject collate "C") as subjects,
      m.role, m.by_claim as "byClaim",
      exists (select from memberships o where o.user_id = u.id and o.account_id = ${other}) as "isElsewhere",
      u.password is not null as "hasPassword",
      (select count(*)::int from sign_in_links l where l.user_id = u.id) as links,
      (select count(*)::int from web_sessions s where s.user_id = u.id) as sessions,
      u.oidc_email_until > now() as "isEarly"
    from users u left join memberships m on m.user_id = u.id and m.account_id = ${own} order by u.email collate "C"`
  return rows.map(row => ({ ...row }))
}

/** Reads the entries about identities from the audit log. */
async function readAudit(sql: Sql): Promise<string[]> {
  const rows = await sql<{ action: string; detail: string }[]>`
    select action, detail::text as detail from audit where action like 'oidc.%' order by id`
  return rows.map(({ action, detail }) => {
    const { subject, email, proof, reason } = JSON.parse(detail)
    return [action, subject ?? email, proof ?? reason].filter(each => each !== undefined).join(' ')
  })
}

t.test('of several subjects with one address that arrive concurrently, one is admitted', async t => {
  const { pool, own } = await setUp(t)
  await pool.run(sql => addUserRow(sql, { email: 'a@x.example', name: '', role: 'viewer', accountId: own }))
  const come = (subject: string) => pool.run(sql => arrive(sql, { subject, email: 'a@x.example', proof: 'verified' }))
  const ends = await Promise.all(['one', 'two', 'three', 'four'].map(come))
  t.equal(ends.filter(end => typeof end === 'number').length, 1, String(ends))
  t.equal(ends.filter(end => end === 'taken').length, 3, String(ends))
})

t.test('a subject that arrives twice concurrently creates one user', async t => {
  const { pool } = await setUp(t)
  const who = { subject: 'one', email: 'a@x.example', proof: 'verified', role: 'viewer' } as const
  const [first, ...others] = await Promise.all(Array.from({ length: 4 }, () => pool.run(sql => arrive(sql, who))))
  t.type(first, 'number')
  t.same(others, Array(3).fill(first))
})

t.test('the same subject at another provider is a different person', async t => {
  const { pool } = await setUp(t)
  await pool.run(async sql => {
    const who = { subject: 'one', email: 'a@x.example', proof: 'verified', role: 'viewer' } as const
    const first = await arrive(sql, who)
    t.equal(await arrive(sql, who, 'https://other.example'), 'taken')
    const second = await arrive(sql, { ...who, email: 'b@x.example' }, 'https://other.example')
    t.type(second, 'number')
    t.not(second, first)
  })
})

t.test('a resent sign-in whose response was lost creates no second session', async t => {
  const { pool } = await setUp(t)
  await pool.run(async sql => {
    const session = newSession()
    const identity = { issuer: ISSUER, subject: 'one', authTime: undefined }
    const person = { email: 'a@x.example', proof: 'verified', name: '', role: 'viewer' } as const
    const attempts = { sent: false }
    const first = await signInByOidc(sql, identity, person, session, attempts)
    t.equal(attempts.sent, true)
    t.equal(await signInByOidc(sql, identity, person, session, attempts), first)
    t.equal((await sql`select from web_sessions`).length, 1)
    t.equal((await sql`select from audit where action = 'sign-in'`).length, 1)
    // A sign-in that was sent, but whose response never arrived.
    t.equal(await signInByOidc(sql, identity, person, newSession(), { sent: true }), first)
    t.equal((await sql`select from web_sessions`).length, 2)
  })
})

t.test('a provider’s sign-in time is stored, unless it is missing or in the future', async t => {
  const { pool } = await setUp(t)
  await pool.run(async sql => {
    const ages = []
    for (const authTime of [undefined, Date.now() / 1000 - 3600, 1e12]) {
      const session = newSession()
      const person = { email: 'a@x.example', proof: 'verified', name: '', role: 'viewer' } as const
      await signInByOidc(sql, { issuer: ISSUER, subject: 'one', authTime }, person, session)
      const [row] = await sql`
        select extract(epoch from created_at - proven_at)::int / 60 as minutes from web_sessions
        where digest = ${session.digest}::bytea`
      ages.push(row!.minutes)
    }
    t.same(ages, [null, 60, 0])
  })
})

t.test('a session that a provider began expires, however much it is used', async t => {
  const { pool } = await setUp(t)
  await pool.run(async sql => {
    const person = { email: 'ada@example.com', proof: 'verified', name: '', role: 'member' } as const
    const identity = { issuer: ISSUER, subject: 'ada', authTime: undefined }
    const [bounded, unbounded, linked] = [newSession(), newSession(), newSession()]
    await signInByOidc(sql, identity, person, { ...bounded, endsInS: 3600 })
    await signInByOidc(sql, identity, person, unbounded)
    const link = digestToken(makeToken())!
    const user = await findUser(sql, person.email)
    await insertLink(sql, user!.id, link, null)
    await signInByLink(sql, link, linked)
    const digests = [bounded, unbounded, linked].map(each => each.digest)
    const hoursLeft = async () => {
      const rows = await sql<{ hours: number }[]>`
        select round(extract(epoch from s.expires_at - now()) / 3600)::int as hours
        from unnest(${digests}::bytea[]) with ordinality as d (digest, place) join web_sessions s using (digest)
        order by place`
      return rows.map(({ hours }) => hours)
    }
    t.same(await hoursLeft(), [1, 720, 720])
    await sql`
      update web_sessions set seen_at = now() - interval '10 minutes', created_at = created_at - interval '80 days'`
    await touchSessions(sql, digests)
    t.same(await hoursLeft(), [1, 240, 240])
  })
})
