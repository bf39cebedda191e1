/** Tests which routes' requests count as reads, and the length of a body that consists of pieces. */
import t from 'tap'
import { isPersonAccess } from '../../../lib/http/people/admit.ts'
import { isRead, JsonPieces } from '../../../lib/http/route.ts'
import { testService } from '../../fixtures/service/service.ts'

t.test('the reads among the routes for keys are those that change nothing, and the tools', async t => {
  const { app } = await testService(t)
  const guarded = app.routes.filter(({ access }) => access !== 'public' && !isPersonAccess(access))
  const nameOf = ({ method, path }: (typeof guarded)[number]) => `${method} ${path}`
  t.same(guarded.filter(isRead).map(nameOf).sort(), [
    'GET /api/v1/changes',
    'GET /api/v1/errors',
    'GET /api/v1/key',
    'GET /api/v1/project',
    'GET /api/v1/scores',
    'GET /api/v1/search',
    'GET /api/v1/sessions',
    'GET /api/v1/sessions/:sessionId',
    'GET /api/v1/spans',
    'GET /api/v1/traces',
    'GET /api/v1/traces/:traceId',
    'GET /api/v1/traces/:traceId/scores',
    'GET /api/v1/usage',
    'GET /api/v1/users',
    'POST /api/mcp'
  ])
  const writes = guarded.filter(route => !isRead(route))
  t.ok(writes.length > 0)
  for (const route of writes) t.match(route.access, /^traces:(write|delete)$/, nameOf(route))
})

t.test('the reads among the routes for people are those that use GET', async t => {
  const { app } = await testService(t)
  for (const route of app.routes.filter(({ access }) => isPersonAccess(access)))
    t.equal(isRead(route), route.method === 'GET', route.path)
})

t.test('a body in parts has the bytes of all of them', t => {
  const pieces = ['{"é":', '"😀"', '}'].map(text => Buffer.from(text))
  t.equal(new JsonPieces(pieces).byteLength, Buffer.byteLength('{"é":"😀"}'))
  t.equal(new JsonPieces([]).byteLength, 0)
  t.end()
})
