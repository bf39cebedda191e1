import t from 'tap'
import { ingestBody } from '../fixtures/bodies.ts'
import { testService } from '../fixtures/service.ts'

t.test('counts requests by route and status, refusals by code, and batches, without a key', async t => {
  const { call } = await testService(t)
  await call('POST', '/api/v1/traces', { body: ingestBody() })
  await call('POST', '/api/v1/traces', { body: ingestBody({ name: '' }) })
  await call('GET', `/nowhere/${'x'.repeat(50)}`)
  const { status, headers, text } = await call('GET', '/metrics', { key: null })
  t.equal(status, 200)
  t.match(headers['content-type'], /^text\/plain; version=0\.0\.4/)
  const lines = text.split('\n')
  for (const line of [
    'spoor_http_requests_total{route="recordTrace",status="201"} 1',
    'spoor_http_requests_total{route="recordTrace",status="400"} 1',
    'spoor_http_requests_total{route="unknown",status="404"} 1',
    'spoor_http_request_duration_seconds_count{route="recordTrace"} 2',
    'spoor_refusals_total{code="invalid_trace"} 1',
    'spoor_batch_operations_count 1',
    'spoor_pending_writes 0',
    'spoor_pending_write_bytes 0',
    'spoor_pool_waiting 0'
  ]) {
    t.ok(lines.includes(line), line)
  }
  t.match(text, /^spoor_database_bytes [1-9]\d{6,}$/m)
  t.match(text, /^nodejs_eventloop_lag_seconds /m)
  t.notMatch(text, /spoor_live_|nowhere/, 'nothing that a client sent')
})
