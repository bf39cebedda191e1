/**
 * Nobody can see or change another project's data, and nobody can do what their key does not allow. Tests every route
 * and every tool with ids of another project, without each scope, and with invalid keys.
 */
import t from 'tap'
import { revokeKey } from '../../lib/admin/keys.ts'
import { guideAddress, PAGES } from '../../lib/guide.ts'
import { isPersonAccess } from '../../lib/http/people/admit.ts'
import type { Route } from '../../lib/http/route.ts'
import { SCOPES } from '../../lib/schema/scopes.ts'
import { hexId, spanId, startBody, traceId } from '../fixtures/bodies/bodies.ts'
import { isOnCluster, testDatabase } from '../fixtures/database/database.ts'
import { ENDPOINT, mcpClient } from '../fixtures/service/mcp.ts'
import { type Answer, testService } from '../fixtures/service/service.ts'
import { lintAll } from '../fixtures/statements/lint-all.ts'
import { Recording, recorded } from '../fixtures/statements/record.ts'
import { routingFaults } from '../fixtures/statements/routing.ts'
import { ATTEMPTS, type Attempt, type Ids, KNOWN_TOOLS } from './attempts.ts'

const database = await testDatabase(t)
const recording = new Recording()
const service = await testService(t, { database, view: recorded(database, recording) })
const { call, makeKey, makeProject, app } = service
await makeProject('other')
const stranger = await makeKey({ project: 'other' })
const owner = await makeKey()

/** Every string in the project `default` contains this mark. Nothing that other projects may see contains it. */
const MARK = 'of the project default only'

/** Routes that need no key. They reveal nothing about any project. */
const PUBLIC = [
  'GET /api/v1',
  'GET /api/v1/openapi.json',
  ...PAGES.map(page => `GET /${guideAddress(page)}`),
  'GET /docs/passages.json',
  'GET /docs/docs.css',
  'GET /docs/tables.css',
  'GET /docs/reference.css',
  'GET /docs/docs.js',
  'GET /docs/icon.svg',
  ...['list', 'overview', 'failure', 'conversation', 'session', 'scores', 'compare', 'phone'].map(
    name => `GET /docs/${name}.webp`
  ),
  'GET /docs/grafana-dashboard.json',
  'GET /docs/alert-rules.yml',
  ...['spoor.service', 'spoor-nightly.service', 'spoor-nightly.timer', 'spoor-watch.service', 'compose.yaml'].map(
    name => `GET /docs/${name}`
  ),
  ...['kubernetes.yaml', 'nginx.conf', 'Caddyfile'].map(name => `GET /docs/${name}`),
  ...['server.ts', 'server.py', 'asgi.py', 'worker.ts', 'worker.py', 'serverless.ts', 'serverless.py', 'notebook.py']
    .concat('langgraph-agent.ts', 'langgraph_agent.py')
    .concat('answer.go', 'Answer.java', 'Answer.cs', 'answer.rb', 'answer.php')
    .map(name => `GET /docs/examples/${name}`),
  'GET /docs/swagger-ui.css',
  'GET /docs/swagger-ui-bundle.js',
  'GET /',
  'GET /app',
  'GET /app/*',
  'GET /app/api/*',
  'GET /app/assets/:file',
  'GET /healthz',
  'GET /readyz',
  'GET /metrics',
  `OPTIONS ${ENDPOINT}`
]
const nameOf = ({ method, path }: Route) => `${method} ${path}`
/** test/whole/visitors.test.ts tests the routes that require a person. */
const guarded = app.routes.filter(({ access }) => access !== 'public' && !isPersonAccess(access))

/** Records a running trace with a span and a score. The trace, the span and the score contain `text`. */
async function makeTrace(key: string, keyId: string, text: string): Promise<Ids> {
  const step = { id: spanId(), name: text, startedAt: '2026-11-21T12:00:00Z', endedAt: '2026-11-21T12:00:01Z' }
  const ids = { sessionId: text, userId: text, model: text, tags: [text] }
  const body = startBody({ name: text, ...ids, input: text, metadata: { text }, spans: [{ ...step, output: text }] })
  t.equal((await call('POST', '/api/v1/traces', { key, body })).status, 201)
  const { id } = body.trace
  const score = { name: 'quality', dataType: 'categorical', value: text, comment: text }
  const scored = await call('POST', `/api/v1/traces/${id}/scores`, { key, body: score })
  return { traceId: id, spanId: step.id, scoreId: scored.body.score.id, keyId, sessionId: text }
}
const unknown = (): Ids => ({
  traceId: traceId(),
  spanId: spanId(),
  scoreId: hexId(8),
  keyId: hexId(8),
  sessionId: 'nowhere'
})

/** Background tasks write to these tables at any time. Every such change follows from a change to another table. */
const BY_ROUNDS =
  /^(rollup_news|rollups|rollup_history|user_sums|usage_sums|ranking_floors|search_.*|repack_.*|change_.*)$/

/** Returns everything that requests have stored for the project `default`, as one string. */
async function readAll(): Promise<string> {
  return database.pool.run(async sql => {
    const all = await sql`
      select table_name as name from information_schema.columns join information_schema.tables using (table_name)
      where columns.table_schema = 'public' and column_name = 'project_id' and table_type = 'BASE TABLE' order by 1`
    const tables = all.filter(({ name }) => !BY_ROUNDS.test(name))
    const rows = await Promise.all(
      tables.map(
        ({ name }) => sql`
          select to_jsonb(r) - 'last_used_at' as row from ${sql(name)} r
          where project_id = (select id from projects where slug = 'default')
            and to_jsonb(r) ->> 'action' is distinct from 'key.use'
          order by 1`
      )
    )
    return JSON.stringify(rows.map((list, i) => [tables[i]?.name, list.map(({ row }) => row)]))
  })
}

const send = (attempt: Attempt, key: string | null) => {
  const { method, path, body, headers } = attempt
  return call(method, path, { key, ...(body && { body }), ...(headers && { headers }) })
}
const titleOf = ({ method, path, tool, body }: Attempt) =>
  tool === undefined ? `${method} ${path}` : `${tool} ${JSON.stringify((body as never as { params: object }).params)}`

/** Returns a response without the parts that differ between requests. Names replace the ids. */
function plain({ status, text }: Answer, ...known: readonly Ids[]): string {
  let masked = text
  for (const [name, id] of known.flatMap(ids => Object.entries(ids))) {
    masked = masked.replaceAll(id, name).replaceAll(id.toLowerCase(), name)
  }
  masked = masked
    .replace(/(\\?"requestId\\?":\\?")\w+/g, '$1')
    .replace(/(\\?"\w+At\\?":\\?")[\w:.-]+/g, '$1')
    .replace(/(\\?"(?:spanCount|traceCount|estimatedBytes)\\?":)\d+/g, '$1')
    .replace(/(\\?"score(?:Id)?\\?":(?:\{\\?"id\\?":)?\\?")\w+/g, '$1')
  return `${status} ${masked}`
}

/** Matches the beginning of a hint, which repeats the requested value. */
const ECHO = /No trace has the [\w ]+ \\"[^"\\]*\\"\./g

/** Returns whether a response says that something does not exist. A tool's response says so in the result. */
const isNotFound = ({ status, body }: Answer): boolean =>
  (status === 404 && body.error.code === 'not_found') ||
  (status === 200 && body.result?.isError === true && body.result.structuredContent.error.code === 'not_found')
const isDone = ({ status, body }: Answer): boolean => status < 300 && body?.result?.isError !== true

t.test('every route and every tool is tested here', async t => {
  t.same(
    guarded.map(nameOf).sort(),
    Object.keys(ATTEMPTS).sort(),
    'a route that requires a key is listed in test/whole/attempts.ts'
  )
  t.same(
    app.routes
      .filter(({ access }) => access === 'public')
      .map(nameOf)
      .sort(),
    [...PUBLIC].sort(),
    'a route that requires none is listed above'
  )
  const { toolNames } = await mcpClient(t, service)
  t.same((await toolNames()).sort(), [...KNOWN_TOOLS].sort(), 'and so is a tool')
})

t.test('another project’s data gets the same response as missing data, and is neither changed nor shown', async t => {
  const own = await makeTrace(stranger.key, stranger.keyId, 'own')
  for (const [name, attemptsWith] of Object.entries(ATTEMPTS)) {
    const foreign = await makeTrace(owner.key, owner.keyId, MARK)
    const nowhere = unknown()
    const before = await readAll()
    const wrong: string[] = []
    const alike = attemptsWith(nowhere, own)
    for (const [i, attempt] of attemptsWith(foreign, own).entries()) {
      const answer = await send(attempt, stranger.key)
      const other = await send(alike[i]!, stranger.key)
      const isAlike = plain(answer, foreign, nowhere) === plain(other, foreign, nowhere)
      if (!isAlike || isNotFound(answer) !== attempt.seeks || answer.text.replace(ECHO, '').includes(MARK)) {
        wrong.push(`${titleOf(attempt)}: ${answer.status} ${answer.text}`)
      }
    }
    t.ok(before.includes(MARK) && (await readAll()) === before, `${name}: nothing is changed`)
    for (const attempt of attemptsWith(foreign, foreign).filter(({ seeks }) => seeks)) {
      const answer = await send(attempt, owner.key)
      if (!isDone(answer)) wrong.push(`${titleOf(attempt)}, of its owner: ${answer.status} ${answer.text}`)
    }
    t.same(wrong, [], name)
  }
})

t.test("a cursor of another project is a position in one's own", async t => {
  for (const path of ['/api/v1/traces', '/api/v1/scores', '/api/v1/spans', '/api/v1/search']) {
    const { nextCursor } = (await call('GET', `${path}?limit=1`)).body
    t.type(nextCursor, 'string')
    const { status, text } = await call('GET', `${path}?after=${nextCursor}`, { key: stranger.key })
    t.equal(status, 200)
    t.notOk(text.includes(MARK))
  }
})

t.test('an invalid key gets 401 wherever one is required, and changes nothing', async t => {
  const expired = await makeKey({ expiresInDays: 1 })
  const revoked = await makeKey()
  await database.pool.run(sql => sql`update api_keys set expires_at = now() where id = ${expired.keyId}`)
  await database.pool.run(sql => revokeKey(sql, revoked.keyId))
  const keys = {
    none: null,
    malformed: 'nonsense',
    unknown: `spoor_live_${'0'.repeat(16)}_${'0'.repeat(43)}`,
    wrong: owner.key.replace(/.{43}$/, 'x'.repeat(43)),
    expired: expired.key,
    revoked: revoked.key
  }
  const ids = await makeTrace(owner.key, owner.keyId, MARK)
  const before = await readAll()
  const answers = new Map<string, string>()
  for (const [name, attemptsWith] of Object.entries(ATTEMPTS)) {
    for (const [kind, key] of Object.entries(keys)) {
      const answer = await send(attemptsWith(ids, ids)[0]!, key)
      answers.set(`${answer.headers['www-authenticate']} ${plain(answer)}`, `${name}, ${kind}`)
    }
  }
  t.equal(answers.size, 1, `the response is always the same: ${[...answers.values()]}`)
  t.match([...answers.keys()][0], /^Bearer 401 .*"invalid_api_key"/)
  t.equal(await readAll(), before)
})

t.test(
  'a key without the scope gets 403 wherever it is required, and a key with only that scope is enough',
  async t => {
    const keys = new Map<string, { lacking: string; only: string }>()
    const scopeOf = new Map<string, string>(guarded.map(route => [nameOf(route), route.access]))
    for (const scope of SCOPES) {
      const { key: lacking } = await makeKey({ scopes: SCOPES.filter(other => other !== scope) })
      const { key: only } = await makeKey({ scopes: [scope] })
      keys.set(scope, { lacking, only })
      const { toolNames } = await mcpClient(t, service, only)
      for (const tool of await toolNames()) scopeOf.set(tool, scope)
    }
    t.same(
      [...scopeOf].filter(([, scope]) => !keys.has(scope)),
      [
        ['GET /api/v1/key', 'key'],
        [`POST ${ENDPOINT}`, 'key']
      ],
      'only these two require none'
    )
    for (const [name, attemptsWith] of Object.entries(ATTEMPTS)) {
      const ids = await makeTrace(owner.key, owner.keyId, MARK)
      const before = await readAll()
      const wrong: string[] = []
      const expect = async (isRight: (answer: Answer) => boolean, attempt: Attempt, key: string) => {
        const answer = await send(attempt, key)
        if (!isRight(answer)) wrong.push(`${titleOf(attempt)}: ${answer.status} ${answer.text}`)
      }
      const attempts = attemptsWith(ids, ids)
        .map(attempt => ({ attempt, keys: keys.get(scopeOf.get(attempt.tool ?? name)!) }))
        .filter(({ keys }) => keys !== undefined)
      for (const { attempt, keys } of attempts) await expect(isDenied, attempt, keys!.lacking)
      t.equal(await readAll(), before, `${name}: nothing is changed`)
      for (const { attempt, keys } of attempts) await expect(answer => !isDenied(answer), attempt, keys!.only)
      t.same(wrong, [], name)
    }
  }
)

const isDenied = ({ status, body }: Answer): boolean => status === 403 && body.error.code === 'insufficient_scope'

t.test('every statement that was sent has the form that a cluster requires', async t => {
  t.ok(recording.texts.size > 30, `${recording.texts.size} statements`)
  t.same(lintAll(recording.texts), [])
  if (isOnCluster())
    t.same(await routingFaults(database, recording.bound.values()), [], 'and can be routed to one node')
})
