/** Uses the service through the client that @hey-api/openapi-ts generates from the OpenAPI document. */
import assert from 'node:assert/strict'
import { client } from './generated/hey-api/client.gen.js'
import * as api from './generated/hey-api/index.js'

const { SPOOR_URL: baseUrl = '', SPOOR_API_KEY: key = '' } = process.env
client.setConfig({ baseUrl, auth: key })

// Fields with a default are optional, and free-form objects accept any member.
const span: api.SpanInput = {
  id: 'c'.repeat(16),
  name: 'step',
  startedAt: '2026-01-02T03:04:05Z',
  endedAt: '2026-01-02T03:04:06Z',
  attributes: { depth: { of: [1] } }
}
const id = 'a2'.repeat(16)
const trace: api.TraceInput = {
  id,
  name: 'generated',
  startedAt: span.startedAt,
  endedAt: span.endedAt,
  metadata: { release: '1' },
  spans: [span]
}
const path = { traceId: id }

const recorded = await api.recordTrace({ body: { schemaVersion: 1, trace } })
assert.equal(recorded.data?.spanCount, 1)

const list = await api.listTraces({ query: { name: 'generated' } })
const summary: api.TraceSummary | undefined = list.data?.traces[0]
assert.equal(summary?.id, id)

const score: api.ScoreInput = { name: 'helpful', dataType: 'boolean', value: true }
// @ts-expect-error: the value does not have the type that dataType names.
const wrong: api.ScoreInput = { name: 'helpful', dataType: 'boolean', value: 'yes' }
const added = await api.addScore({ path, body: score })
assert.equal(added.data?.score.value, true)
const refused = await api.addScore({ path, body: wrong })
const error: api.ErrorBody | undefined = refused.error
assert.equal(error?.error.code, 'invalid_request')

const patched = await api.patchTraceMetadata({ path, body: { metadata: { reviewed: true } } })
assert.equal(patched.data?.metadata.reviewed, true)

const detail = await api.getTrace({ path })
assert.deepEqual(detail.data?.trace.metadata, { release: '1', reviewed: true })
assert.equal(detail.data?.spans[0]?.kind, 'custom')
assert.equal(detail.data?.trace.scores.helpful?.value, true)

assert.equal((await api.deleteTrace({ path })).data?.ok, true)
assert.equal((await api.getTrace({ path })).error?.error.code, 'not_found')
