/** Tests public links: anyone who has a link sees one trace, until the link expires or is revoked. */
import t from 'tap'
import { MOST_PUBLIC_LINKS } from '../../../lib/store/projects/public-links.ts'
import { freshId } from '../../fixtures/database/seed.ts'
import { signedIn } from '../../fixtures/service/people.ts'
import { testService } from '../../fixtures/service/service.ts'

const P = 'p/default'
const notFound = { status: 404, body: { error: { code: 'not_found' } } }
const forbidden = { status: 403, body: { error: { code: 'forbidden' } } }

const service = await testService(t, { config: { publicLinks: true } })
const { pool } = service.database
const owner = await signedIn(service, 'owner@example.com', 'owner')
const member = await signedIn(service, 'member@example.com', 'member')

async function record(id = freshId(32)): Promise<string> {
  const now = new Date().toISOString()
  const step = { id: freshId(16), name: 'step', kind: 'llm', startedAt: now, endedAt: now, input: 'a question' }
  const trace = { id, name: 'shared', startedAt: now, endedAt: now, output: 1e21, spans: [step] }
  t.equal((await service.call('POST', '/api/v1/traces', { body: { schemaVersion: 1, trace } })).status, 201)
  const score = { name: 'secret', dataType: 'categorical', value: 'internal', comment: 'for colleagues' }
  t.equal((await service.call('POST', `/api/v1/traces/${id}/scores`, { body: score })).status, 201)
  return id
}
const at = (id: string) => `${P}/traces/${id}/public-links`
const make = (id: string, days: unknown = 7, person = owner) => person.ask('POST', at(id), { body: { days } })
/** Opens a link as a page of the dashboard does for a visitor who is not signed in. */
const open = (token: unknown, from = service) =>
  from.call('POST', '/app/api/shared', {
    key: null,
    body: { token },
    headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
  })

t.test('a link shows its trace without scores, and nothing else', async t => {
  const id = await record()
  const made = await make(id)
  t.match(made, { status: 201, body: { id: Number, token: /^[\w-]{43}$/ } })
  const lifetime = Date.parse(made.body.expiresAt) - Date.parse(made.body.createdAt)
  t.equal(lifetime, 7 * 24 * 3_600_000)
  const shown = await open(made.body.token)
  t.match(shown, { status: 200, body: { trace: { id, name: 'shared', scores: {} }, spans: [{ name: 'step' }] } })
  t.same(Object.keys(shown.body), ['trace', 'spans'])
  t.notMatch(shown.text, /internal|colleagues|secret/)
  t.match(shown.headers, { 'cache-control': 'no-store', 'x-robots-tag': 'noindex' })
  const [row] = await pool.run(sql => sql`select * from public_links where id = ${made.body.id}`)
  t.notMatch(JSON.stringify(row), made.body.token, 'only a digest is stored')
  t.match((await owner.ask('GET', at(id))).body.links, [{ id: made.body.id, madeBy: 'owner@example.com' }])
})

t.test('a link ends when it expires, when it is revoked, and when its trace is deleted', async t => {
  const id = await record()
  const [first, second, third] = [await make(id), await make(id), await make(id)]
  await pool.run(sql => sql`update public_links set expires_at = now() where id = ${first.body.id}`)
  t.match(await open(first.body.token), notFound)
  t.match(await member.ask('DELETE', `${P}/public-links/${second.body.id}`), forbidden)
  t.match(await owner.ask('DELETE', `${P}/public-links/${second.body.id}`), { status: 200 })
  t.match(await open(second.body.token), notFound)
  t.match(await owner.ask('DELETE', `${P}/public-links/${second.body.id}`), notFound)
  t.match(await owner.ask('DELETE', `${P}/public-links/${first.body.id}`), notFound)
  t.same(
    (await owner.ask('GET', at(id))).body.links.map((link: { id: number }) => link.id),
    [third.body.id]
  )
  t.equal((await open(third.body.token)).status, 200)
  t.equal((await owner.ask('DELETE', `${P}/traces/${id}`)).status, 200)
  t.match(await open(third.body.token), notFound)
  await record(id)
  t.match(await open(third.body.token), notFound, 'another trace with the same id is not shown')
  t.same((await owner.ask('GET', at(id))).body.links, [], 'the new trace has no link')
  const acts = await pool.run(
    sql =>
      sql`select action, detail::jsonb as detail from audit where action like 'public-link.%' order by id desc limit 4`
  )
  const detailed = acts.map(({ action, detail }) => ({ action, detail: JSON.parse(detail) }))
  t.match(detailed, [
    { action: 'public-link.revoke', detail: { linkId: second.body.id } },
    { action: 'public-link.make', detail: { traceId: id, days: 7 } },
    { action: 'public-link.make' },
    { action: 'public-link.make' }
  ])
})

t.test('only owners can create links, and invalid requests are rejected with the field and the rule', async t => {
  const id = await record()
  t.match(await make(id, 7, member), forbidden)
  t.match(await member.ask('GET', at(id)), forbidden)
  t.match(await make(freshId(32)), notFound)
  for (const days of [0, 91, 1.5, '7', null]) {
    t.match(await make(id, days), { status: 400, body: { error: { message: /^days/ } } }, String(days))
  }
  for (const token of ['', 'x'.repeat(43), 'x'.repeat(100), '\u0000']) t.match(await open(token), notFound)
  for (const token of [1, null, 'x'.repeat(101)]) t.match(await open(token), { status: 400 })
  for (let i = 0; i < MOST_PUBLIC_LINKS; i++) t.equal((await make(id)).status, 201)
  t.match(await make(id), { status: 409 })
})

t.test('without PUBLIC_LINKS=on, links cannot be created, and existing ones show nothing', async t => {
  const off = await testService(t, { database: service.database })
  const id = await record()
  const { token } = (await make(id)).body
  t.match(await open(token, off), notFound)
  const person = await signedIn(off, 'other@example.com', 'owner')
  t.match(await make(id, 7, person), { status: 403, body: { error: { message: /PUBLIC_LINKS/ } } })
  t.equal((await person.ask('GET', 'session')).body.publicLinks, false)
  t.equal((await owner.ask('GET', 'session')).body.publicLinks, true)
})
