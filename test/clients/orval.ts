/** Uses the service through the functions that orval generates from the OpenAPI document. */
import assert from 'node:assert/strict'
import * as api from './generated/orval.js'

const { SPOOR_URL: baseUrl = '', SPOOR_API_KEY: key } = process.env
const { fetch } = globalThis
// The generated code contains only paths, so the application must supply the server's address.
globalThis.fetch = (path, options) => fetch(`${baseUrl}${path}`, options)
const options = { headers: { Authorization: `Bearer ${key}` } }

// Fields with a default are optional, and free-form objects accept any member.
const span: api.SpanInput = {
  id: 'c'.repeat(16),
  name: 'step',
  startedAt: '2026-01-02T03:04:05Z',
  endedAt: '2026-01-02T03:04:06Z',
  attributes: { depth: { of: [1] } }
}
const id = 'a3'.repeat(16)
const trace: api.TraceInput = {
  id,
  name: 'generated',
  startedAt: span.startedAt,
  endedAt: span.endedAt,
  metadata: { release: '1' },
  spans: [span]
}

const recorded = await api.recordTrace({ schemaVersion: 1, trace }, options)
assert.equal(recorded.status, 201)
assert.ok(recorded.status === 201 && recorded.data.spanCount === 1)

const list = await api.listTraces({ name: 'generated' }, options)
assert.ok(list.status === 200 && list.data.traces[0]?.id === id)

const score: api.ScoreInput = { name: 'helpful', dataType: 'boolean', value: true }
// @ts-expect-error: the value does not have the type that dataType names.
const wrong: api.ScoreInput = { name: 'helpful', dataType: 'boolean', value: 'yes' }
const added = await api.addScore(id, score, options)
assert.ok(added.status === 201 && added.data.score.value === true)
const refused = await api.addScore(id, wrong, options)
assert.ok(refused.status === 400 && refused.data.error.code === 'invalid_request')

const patched = await api.patchTraceMetadata(id, { metadata: { reviewed: true } }, options)
assert.ok(patched.status === 200 && patched.data.metadata.reviewed === true)

const detail = await api.getTrace(id, options)
assert.ok(detail.status === 200 && detail.data.spans[0]?.kind === 'custom')
assert.deepEqual(detail.data.trace.metadata, { release: '1', reviewed: true })
assert.equal(detail.data.trace.scores.helpful?.value, true)

assert.equal((await api.deleteTrace(id, options)).status, 200)
assert.equal((await api.getTrace(id, options)).status, 404)
