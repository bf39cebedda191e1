/**
 * Nobody can see or change another account's data on the dashboard, and nobody can do what their role does not allow.
 * Tests every route of the dashboard as an owner of another account, in each role, and signed out.
 */
import t from 'tap'
import { createAccount } from '../../lib/admin/accounts.ts'
import { createProject } from '../../lib/admin/projects.ts'
import { isPersonAccess } from '../../lib/http/people/admit.ts'
import { isEnough, ROLES, type Role } from '../../lib/schema/roles.ts'
import { hexId, spanId, startBody, traceId } from '../fixtures/bodies/bodies.ts'
import { isOnCluster, testDatabase } from '../fixtures/database/database.ts'
import { addPerson, asking, type Person, signedIn } from '../fixtures/service/people.ts'
import { type Answer, testService } from '../fixtures/service/service.ts'
import { lintAll } from '../fixtures/statements/lint-all.ts'
import { Recording, recorded } from '../fixtures/statements/record.ts'
import { routingFaults } from '../fixtures/statements/routing.ts'

const database = await testDatabase(t)
const recording = new Recording()
const service = await testService(t, {
  database,
  view: recorded(database, recording),
  config: { publicLinks: true }
})
const { call, makeKey, app, config } = service
const { key } = await makeKey()

/** Every string in the project `default` contains this mark. Nothing that strangers may see contains it. */
const MARK = 'of_the_project_default_only'

/** Ids that may belong to another account or to nothing. */
interface Ids {
  readonly slug: string
  readonly traceId: string
  readonly spanId: string
  readonly scoreId: string
  readonly keyId: string
  readonly viewId: string
  readonly priceId: string
  readonly definition: string
  readonly linkId: string
  readonly userId: string
  readonly sessionId: string
}

interface Visit {
  readonly path: string
  readonly body?: object
}

const SCORE = { name: 'quality', dataType: 'numeric', value: 1 }
const NOTHING = {}
let invited = 0
let named = 0

/** A valid request for each route within a project, by method and by path after `/app/api/p/:slug`. */
const IN_PROJECT: Readonly<Record<string, (ids: Ids) => Visit>> = {
  'GET ': () => ({ path: '' }),
  'PATCH ': () => ({ path: '', body: { name: 'renamed' } }),
  'GET /traces': () => ({ path: '/traces' }),
  'GET /trace-count': () => ({ path: `/trace-count?name=${MARK}` }),
  'GET /trace-summaries': () => ({ path: '/trace-summaries' }),
  'GET /trace-table': () => ({ path: '/trace-table' }),
  'GET /suggestions': () => ({ path: '/suggestions?field=tag' }),
  'POST /deletions': ({ traceId }) => ({ path: '/deletions', body: { traceIds: [traceId] } }),
  'GET /scores': () => ({ path: '/scores' }),
  'GET /facets': () => ({ path: '/facets' }),
  'GET /series': () => ({ path: '/series?by=user&compare=1&range=1h' }),
  'GET /facet-counts': () => ({ path: '/facet-counts?range=30d' }),
  'GET /errors': () => ({ path: '/errors' }),
  'GET /spans': () => ({ path: `/spans?traceName=${MARK}&sort=slowest` }),
  'GET /group-pair': () => ({ path: `/group-pair?a=name:${MARK}&b=user:${MARK}` }),
  'GET /score-names': () => ({ path: '/score-names' }),
  'GET /score-series': () => ({ path: '/score-series' }),
  'GET /score-disagreement': () => ({ path: `/score-disagreement?name=${MARK}` }),
  'GET /scored-traces': () => ({ path: `/scored-traces?name=${MARK}` }),
  'GET /sessions': () => ({ path: '/sessions' }),
  'GET /users': () => ({ path: '/users' }),
  'GET /user': () => ({ path: `/user?id=${MARK}` }),
  'GET /session': () => ({ path: `/session?id=${MARK}` }),
  'GET /session-traces': () => ({ path: `/session-traces?id=${MARK}` }),
  'GET /traces/:traceId': ({ traceId }) => ({ path: `/traces/${traceId}` }),
  'GET /traces/:traceId/outline': ({ traceId }) => ({ path: `/traces/${traceId}/outline` }),
  'GET /traces/:traceId/body': ({ traceId }) => ({ path: `/traces/${traceId}/body` }),
  'GET /traces/:traceId/previews': ({ traceId, spanId }) => ({
    path: `/traces/${traceId}/previews?spans=${spanId}&length=long`
  }),
  'GET /traces/:traceId/texts': ({ traceId }) => ({ path: `/traces/${traceId}/texts` }),
  'GET /traces/:traceId/spans/:spanId': ({ traceId, spanId }) => ({ path: `/traces/${traceId}/spans/${spanId}` }),
  'POST /traces/:traceId/scores': ({ traceId }) => ({ path: `/traces/${traceId}/scores`, body: SCORE }),
  'DELETE /traces/:traceId/scores/:scoreId': ({ traceId, scoreId }) => ({
    path: `/traces/${traceId}/scores/${scoreId}`
  }),
  'PATCH /traces/:traceId': ({ traceId }) => ({ path: `/traces/${traceId}`, body: { metadata: { a: 1 } } }),
  'DELETE /traces/:traceId': ({ traceId }) => ({ path: `/traces/${traceId}` }),
  'GET /keys': () => ({ path: '/keys' }),
  'POST /keys': () => ({ path: '/keys', body: {} }),
  'POST /keys/:keyId/rotate': ({ keyId }) => ({ path: `/keys/${keyId}/rotate`, body: NOTHING }),
  'POST /keys/:keyId/revoke': ({ keyId }) => ({ path: `/keys/${keyId}/revoke`, body: NOTHING }),
  'GET /members': () => ({ path: '/members' }),
  'POST /members': () => ({ path: '/members', body: { email: `${++invited}@example.com`, role: 'viewer' } }),
  'POST /members/:userId/link': ({ userId }) => ({ path: `/members/${userId}/link`, body: NOTHING }),
  'PATCH /members/:userId': ({ userId }) => ({ path: `/members/${userId}`, body: { role: 'member' } }),
  'DELETE /members/:userId': ({ userId }) => ({ path: `/members/${userId}` }),
  'PATCH /members': () => ({ path: '/members', body: { requiresFactor: true } }),
  'DELETE /members/:userId/factor': ({ userId }) => ({ path: `/members/${userId}/factor` }),
  'GET /views': () => ({ path: '/views' }),
  'POST /views': () => ({ path: '/views', body: { name: `view ${++named}`, page: 'traces', query: '' } }),
  'PATCH /views/:viewId': ({ viewId }) => ({ path: `/views/${viewId}`, body: { query: '?status=ok' } }),
  'DELETE /views/:viewId': ({ viewId }) => ({ path: `/views/${viewId}` }),
  'GET /review': () => ({ path: `/review?judge=${MARK}` }),
  'POST /review/claims': ({ traceId }) => ({ path: '/review/claims', body: { judge: 'other', traceIds: [traceId] } }),
  'GET /traces/:traceId/public-links': ({ traceId }) => ({ path: `/traces/${traceId}/public-links` }),
  'POST /traces/:traceId/public-links': ({ traceId }) => ({
    path: `/traces/${traceId}/public-links`,
    body: { days: 1 }
  }),
  'DELETE /public-links/:linkId': ({ linkId }) => ({ path: `/public-links/${linkId}` }),
  'GET /score-definitions': () => ({ path: '/score-definitions' }),
  'POST /score-definitions': () => ({ path: '/score-definitions', body: { name: MARK, dataType: 'boolean' } }),
  'DELETE /score-definitions/:name': ({ definition }) => ({ path: `/score-definitions/${definition}` }),
  'GET /audit': () => ({ path: '/audit' }),
  'GET /audit-file': () => ({ path: '/audit-file?group=views' }),
  'GET /prices': () => ({ path: '/prices' }),
  'POST /prices': () => ({ path: '/prices', body: { model: MARK, input: 1, output: 2 } }),
  'DELETE /prices/:priceId': ({ priceId }) => ({ path: `/prices/${priceId}` })
}

/**
 * Valid requests for the other routes, which require a person but no role. `seeks`: the request must not find the ids.
 * `status`: the response if the person lacks what the request changes.
 */
const ELSEWHERE: Readonly<Record<string, (ids: Ids) => Visit & { readonly seeks: boolean; readonly status?: number }>> =
  {
    'GET /app/api/sessions': () => ({ path: 'sessions', seeks: false }),
    'DELETE /app/api/sessions/:sessionId': ({ sessionId }) => ({ path: `sessions/${sessionId}`, seeks: true }),
    'POST /app/api/factor': () => ({ path: 'factor', body: NOTHING, seeks: false, status: 409 }),
    'POST /app/api/factor/confirm': () => ({ path: 'factor/confirm', body: { code: '1' }, seeks: false, status: 409 }),
    'POST /app/api/factor/recovery-codes': () => ({
      path: 'factor/recovery-codes',
      body: NOTHING,
      seeks: false,
      status: 409
    }),
    'GET /app/api/factor': () => ({ path: 'factor', seeks: false }),
    'DELETE /app/api/factor': () => ({ path: 'factor', seeks: false }),
    'POST /app/api/password': () => ({ path: 'password', body: { password: null }, seeks: false }),
    'GET /app/api/traces/:traceId': ({ traceId }) => ({ path: `traces/${traceId}`, seeks: true })
  }

/** These routes show and change only data of the person who calls them. */
const GUESTS = [
  'POST /app/api/sign-in/link',
  'POST /app/api/sign-in/password',
  'GET /app/api/sign-in/oidc',
  'GET /app/api/sign-in/oidc/callback',
  'GET /app/api/session',
  'DELETE /app/api/session',
  'POST /app/api/shared'
]

const { stranger, victim } = await database.pool.run(async sql => {
  const { id } = await createAccount(sql, 'others', 'owner')
  await createProject(sql, config.storageLimitBytes, { name: 'Theirs', slug: 'theirs', accountId: id })
  const stranger = await signedIn(service, 'stranger@example.com', 'owner', id)
  const victim = await signedIn(service, 'victim@example.com', 'owner')
  return { stranger, victim }
})
const people = Object.fromEntries(
  await Promise.all(ROLES.map(async role => [role, await signedIn(service, `${role}@example.com`, role)] as const))
) as Record<Role, Person>

let made = 0

/**
 * Creates everything that can be requested in the project `default`, with the mark in each string. The view belongs to
 * the person with the given role.
 */
async function makeAll(role: Role = 'member'): Promise<Ids> {
  const step = { id: spanId(), name: MARK, startedAt: '2026-11-21T12:00:00Z', endedAt: '2026-11-21T12:00:01Z' }
  const body = startBody({
    name: MARK,
    model: MARK,
    sessionId: MARK,
    userId: MARK,
    input: MARK,
    metadata: { MARK },
    spans: [{ ...step, output: MARK }]
  })
  t.equal((await call('POST', '/api/v1/traces', { key, body })).status, 201)
  const score = { name: MARK, dataType: 'categorical', value: MARK, comment: MARK }
  // The score is the member's own, so that the member may delete it.
  const scored = await people.member.ask('POST', `p/default/traces/${body.trace.id}/scores`, { body: score })
  if (scored.status !== 201) throw new Error(scored.text)
  const email = `member-${++made}@example.com`
  await addPerson(service, email, 'viewer')
  const [user] = await database.pool.run(sql => sql`select id from users where email = ${email}`)
  await database.pool.run(
    sql => sql`insert into second_factors (user_id, secret, confirmed_at) values (${user?.id}, 'sealed', now())`
  )
  const view = { name: `${MARK} ${made}`, page: 'traces', query: `?name=${MARK}` }
  const saved = await people[role].ask('POST', 'p/default/views', { body: view })
  const price = { model: MARK, input: 1, output: 2 }
  const { body: set } = await victim.ask('POST', 'p/default/prices', { body: price })
  const definition = `${MARK}-${made}`
  await victim.ask('POST', 'p/default/score-definitions', { body: { name: definition, dataType: 'numeric' } })
  const links = `p/default/traces/${body.trace.id}/public-links`
  const { body: link } = await victim.ask('POST', links, { body: { days: 1 } })
  const [session] = (await victim.ask('GET', 'sessions')).body.sessions
  return {
    slug: 'default',
    traceId: body.trace.id,
    spanId: step.id,
    scoreId: scored.body.score.id,
    keyId: (await makeKey({ label: MARK })).keyId,
    viewId: String(saved.body.view.id),
    priceId: String(set.price.id),
    definition,
    linkId: String(link.id),
    userId: String(user?.id),
    sessionId: session.id
  }
}

const nowhere = (): Ids => ({
  slug: 'nowhere',
  traceId: traceId(),
  spanId: spanId(),
  scoreId: hexId(8),
  keyId: hexId(8),
  viewId: '2000000000',
  priceId: '2000000000',
  definition: 'nowhere',
  linkId: '2000000000',
  userId: '2000000000',
  sessionId: hexId(32)
})

/** Returns all tables' rows, except sign-in attempts, times of use, and what background rounds may change. */
async function readAll(): Promise<string> {
  return database.pool.run(async sql => {
    const tables = await sql`
      select tablename as name from pg_tables
      where schemaname = 'public' and tablename <> 'sign_in_attempts'
        and tablename !~ '^(rollup|user_sums|usage_sums|repack_|change_)'
      order by 1`
    const rows = await Promise.all(
      tables.map(
        ({ name }) =>
          sql`
            select to_jsonb(r) - ${['last_used_at', 'seen_at', 'expires_at', 'repacked_to']}::text[] as row
            from ${sql(name)} r order by 1`
      )
    )
    return JSON.stringify(rows.map(list => list.map(({ row }) => row)))
  })
}

const routes = app.routes.filter(({ access }) => isPersonAccess(access))
const inProject = routes
  .filter(({ path }) => path.startsWith('/app/api/p/:slug'))
  .map(({ method, path, access }) => ({ name: `${method} ${path.slice('/app/api/p/:slug'.length)}`, access, method }))

const send = ({ ask }: Pick<Person, 'ask'>, method: string, slug: string, { path, body }: Visit) =>
  ask(method, `p/${slug}${path}`, body && { body })
const plain = ({ status, text }: Answer) => `${status} ${text.replace(/"requestId":"\w+"/, '')}`
const isDone = ({ status }: Answer) => status >= 200 && status < 300

t.test('every route of the dashboard is tested here', async t => {
  const names = inProject.map(({ name }) => name)
  t.same(names.sort(), Object.keys(IN_PROJECT).sort(), 'in a project')
  const others = routes
    .filter(({ path }) => !path.startsWith('/app/api/p/:slug'))
    .map(({ method, path }) => `${method} ${path}`)
  t.same(others.sort(), [...Object.keys(ELSEWHERE), ...GUESTS].sort(), 'elsewhere')
  t.same(
    routes
      .filter(({ access }) => access === 'guest')
      .map(({ method, path }) => `${method} ${path}`)
      .sort(),
    GUESTS.toSorted()
  )
  t.same(
    app.routes.filter(({ operation, path }) => operation !== undefined && path.startsWith('/app')),
    [],
    'and none is in the OpenAPI document'
  )
})

t.test(
  'another account’s project gets the same response as a missing one, and is neither changed nor shown',
  async t => {
    const ids = await makeAll()
    const before = await readAll()
    for (const { name, method } of inProject) {
      const visit = IN_PROJECT[name]!(ids)
      const theirs = await send(stranger, method, 'default', visit)
      const none = await send(stranger, method, 'nowhere', visit)
      t.equal(plain(theirs), plain(none), name)
      t.match(theirs, { status: 404, body: { error: { code: 'not_found' } } }, name)
      // An id in the path must not be found in the stranger's own project either.
      const inOwn = name.includes('/:') ? await send(stranger, method, 'theirs', visit) : undefined
      if (inOwn !== undefined) {
        const unknown = await send(stranger, method, 'theirs', IN_PROJECT[name]!(nowhere()))
        t.equal(plain(inOwn), plain(unknown), `${name}, in the person's own project`)
        t.equal(inOwn.status, 404, `${name}, in the person's own project`)
      }
      t.notOk(
        [theirs, inOwn].some(answer => answer?.text.includes(MARK)),
        name
      )
    }
    t.equal(await readAll(), before, 'nothing is changed')
  }
)

t.test('a signed-out visitor gets 401 wherever a user is required, and changes nothing', async t => {
  const ids = await makeAll()
  const before = await readAll()
  const { name } = service.app.cookie
  const cookies = [undefined, `${name}=`, `${name}=${'x'.repeat(43)}`, `${name}=${key}`, `other=1`]
  for (const cookie of cookies) {
    const nobody = { ask: asking(service, cookie) }
    const answers = new Set<string>()
    for (const { name, method } of inProject) {
      for (const slug of ['default', 'nowhere'])
        answers.add(plain(await send(nobody, method, slug, IN_PROJECT[name]!(ids))))
    }
    for (const [name, visitWith] of Object.entries(ELSEWHERE)) {
      const { path, body } = visitWith(ids)
      answers.add(plain(await nobody.ask(name.split(' ')[0]!, path, body && { body })))
    }
    t.equal(answers.size, 1, 'the response is always the same')
    t.match([...answers][0], /^401 .*"sign_in_required"/)
  }
  t.equal(await readAll(), before)
})

const neededFor = (access: string): Role => (access === 'visitor' ? 'viewer' : (access as Role))

t.test('an insufficient role gets 403 and changes nothing, and a sufficient one is accepted', async t => {
  const ids = await makeAll()
  const stored = await readAll()
  for (const { name, access } of inProject.filter(({ method }) => method === 'GET')) {
    for (const role of ROLES) {
      const answer = await send(people[role], 'GET', 'default', IN_PROJECT[name]!(ids))
      if (isEnough(role, neededFor(access))) t.ok(isDone(answer), `${name} as ${role}: ${answer.status} ${answer.text}`)
      else t.match(answer, { status: 403, body: { error: { code: 'forbidden' } } }, `${name} as ${role}`)
    }
  }
  t.equal(await readAll(), stored, 'a GET changes nothing')
  for (const { name, method, access } of inProject.filter(({ method }) => method !== 'GET')) {
    for (const role of ROLES) {
      const ids = await makeAll(role)
      const visit = IN_PROJECT[name]!(ids)
      const before = await readAll()
      const answer = await send(people[role], method, 'default', visit)
      if (isEnough(role, neededFor(access))) {
        t.ok(isDone(answer), `${name} as ${role}: ${answer.status} ${answer.text}`)
        t.not(await readAll(), before, `${name} as ${role}: it has an effect`)
      } else {
        t.match(answer, { status: 403, body: { error: { code: 'forbidden' } } }, `${name} as ${role}`)
        t.notOk(answer.text.includes(MARK))
        t.equal(await readAll(), before, `${name} as ${role}: nothing is changed`)
      }
    }
  }
})

t.test('routes that need no role concern only the visitor', async t => {
  for (const [name, visitWith] of Object.entries(ELSEWHERE)) {
    const ids = await makeAll()
    const before = await readAll()
    const { path, body, seeks, status = 200 } = visitWith(ids)
    const answer = await stranger.ask(name.split(' ')[0]!, path, body && { body })
    t.equal(answer.status, seeks ? 404 : status, name)
    t.notOk(answer.text.includes(MARK) || answer.text.includes(ids.sessionId), name)
    if (name !== 'POST /app/api/password') t.equal(await readAll(), before, `${name}: nothing is changed`)
  }
  t.equal((await victim.ask('GET', 'sessions')).status, 200, "the session's owner is still signed in")
  const { body } = await stranger.ask('GET', 'session')
  t.same(body.projects, [{ slug: 'theirs', name: 'Theirs', role: 'owner', search: false }])
})

t.test('every statement that was sent has the form that a cluster requires', async t => {
  t.ok(recording.texts.size > 60, `${recording.texts.size} statements`)
  t.same(lintAll(recording.texts), [])
  if (isOnCluster())
    t.same(await routingFaults(database, recording.bound.values()), [], 'and can be routed to one node')
})
