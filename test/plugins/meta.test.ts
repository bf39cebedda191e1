import t from 'tap'
import { checker } from '../../lib/schema/check.ts'
import { ApiIndex } from '../../lib/schema/output.ts'
import { testService } from '../fixtures/service/service.ts'

t.test('the index lists every operation, and needs no key', async t => {
  const { call, url, app } = await testService(t)
  const { status, body } = await call('GET', '/api/v1', { key: null })
  t.equal(status, 200)
  t.ok(checker(ApiIndex).check(body))
  t.match(body, { version: '1', openapi: `${url}/api/v1/openapi.json`, docs: `${url}/docs`, mcp: `${url}/api/mcp` })
  t.match(body.endpoints, {
    recordTrace: 'POST /api/v1/traces',
    appendSpans: 'POST /api/v1/traces/{traceId}/spans',
    getKey: 'GET /api/v1/key'
  })
  t.equal(Object.keys(body.endpoints).length, app.routes.filter(route => route.operation !== undefined).length)
})
