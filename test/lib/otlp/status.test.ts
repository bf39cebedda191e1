import t from 'tap'
import { keyValues } from '../../fixtures/bodies/otlp.ts'
import { mapOne } from './mapped.ts'

const FAILURES: readonly Record<string, unknown>[] = [
  { 'error.type': 'timeout' },
  { 'error.type': '_OTHER' },
  { 'error.type': '500' },
  { success: false },
  { success: 'false' },
  { 'ai.response.finishReason': 'error' },
  { 'gen_ai.response.finish_reasons': ['stop', 'error'] },
  { 'gen_ai.response.finish_reasons': '["error"]' },
  { 'gen_ai.response.finish_reasons': 'error' },
  { 'http.response.status_code': 500 },
  { 'http.response.status_code': '503' },
  { 'http.status_code': 502 }
]
const NO_FAILURES: readonly Record<string, unknown>[] = [
  { 'error.type': '' },
  { 'error.type': false },
  { success: true },
  { success: 'no' },
  { 'ai.response.finishReason': 'stop' },
  { 'gen_ai.response.finish_reasons': ['stop'] },
  { 'gen_ai.response.finish_reasons': 'no error' },
  { 'http.response.status_code': 404 },
  { 'http.response.status_code': 'teapot' },
  { 'http.response.status_code': { code: 500 } }
]

t.test('a span with an unset status has failed if an attribute says so', async t => {
  for (const attributes of FAILURES) {
    t.equal(mapOne({ attributes }).status, 'error', JSON.stringify(attributes))
    t.match(mapOne({ attributes }).attributes, attributes, 'which stays an attribute')
    t.equal(mapOne({ attributes, status: 1 }).status, 'ok', "the sender's status is kept")
    t.equal(mapOne({ attributes, status: 2 }).status, 'error')
  }
  for (const attributes of NO_FAILURES) t.equal(mapOne({ attributes }).status, 'unset', JSON.stringify(attributes))
  const exception = { name: 'exception', timeUnixNano: '1', attributes: keyValues({ 'exception.type': 'E' }) }
  t.equal(mapOne({ events: [exception] }).status, 'unset', 'the exception may have been caught')
})
