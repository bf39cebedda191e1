/** Uses the service through openapi-fetch, with the types that openapi-typescript generates. */
import assert from 'node:assert/strict'
import createClient from 'openapi-fetch'
import type { components, paths } from './generated/openapi-typescript.js'

type Schemas = components['schemas']

const { SPOOR_URL: baseUrl = '', SPOOR_API_KEY: key } = process.env
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } })

// Fields with a default are optional, and free-form objects accept any member.
const span: Schemas['SpanInput'] = {
  id: 'c'.repeat(16),
  name: 'step',
  startedAt: '2026-01-02T03:04:05Z',
  endedAt: '2026-01-02T03:04:06Z',
  attributes: { depth: { of: [1] } }
}
const id = 'a1'.repeat(16)
const trace: Schemas['TraceInput'] = {
  id,
  name: 'generated',
  startedAt: span.startedAt,
  endedAt: span.endedAt,
  metadata: { release: '1' },
  spans: [span]
}
const path = { traceId: id }

const recorded = await client.POST('/api/v1/traces', { body: { schemaVersion: 1, trace } })
assert.equal(recorded.data?.spanCount, 1)

const list = await client.GET('/api/v1/traces', { params: { query: { name: 'generated' } } })
const summary: Schemas['TraceSummary'] | undefined = list.data?.traces[0]
assert.equal(summary?.id, id)

const score: Schemas['ScoreInput'] = { name: 'helpful', dataType: 'boolean', value: true }
// @ts-expect-error: the value does not have the type that dataType names.
const wrong: Schemas['ScoreInput'] = { name: 'helpful', dataType: 'boolean', value: 'yes' }
const added = await client.POST('/api/v1/traces/{traceId}/scores', { params: { path }, body: score })
assert.equal(added.data?.score.value, true)
const refused = await client.POST('/api/v1/traces/{traceId}/scores', { params: { path }, body: wrong })
const error: Schemas['ErrorBody'] | undefined = refused.error
assert.equal(error?.error.code, 'invalid_request')

const body = { metadata: { reviewed: true } }
const patched = await client.PATCH('/api/v1/traces/{traceId}', { params: { path }, body })
assert.equal(patched.data?.metadata.reviewed, true)

const detail = await client.GET('/api/v1/traces/{traceId}', { params: { path } })
assert.deepEqual(detail.data?.trace.metadata, { release: '1', reviewed: true })
assert.equal(detail.data?.spans[0]?.kind, 'custom')
assert.equal(detail.data?.trace.scores.helpful?.value, true)

assert.equal((await client.DELETE('/api/v1/traces/{traceId}', { params: { path } })).data?.ok, true)
assert.equal((await client.GET('/api/v1/traces/{traceId}', { params: { path } })).error?.error.code, 'not_found')
