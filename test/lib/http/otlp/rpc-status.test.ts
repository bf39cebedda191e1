/** Reads OTLP errors with the schema of google.rpc, parsed by protobufjs. */
import t from 'tap'
import { ERROR_CODES, type ErrorCode, Refusal } from '../../../../lib/errors.ts'
import { encodeStatus, rpcCodeOf } from '../../../../lib/http/otlp/rpc-status.ts'
import { decodeStatus } from '../../../fixtures/bodies/rpc-status.ts'

/** The codes from CANCELLED to UNAVAILABLE for which OTLP tells an exporter to retry. */
const RETRYABLE = new Set([1, 4, 8, 10, 11, 14, 15])

t.test('an exporter retries an error exactly if it has a delay', t => {
  const retried: ErrorCode[] = []
  for (const code of ERROR_CODES) {
    const refusal = new Refusal(code, `why: ${code} é😀`)
    const { retryAfterS, ...status } = decodeStatus(encodeStatus(refusal))
    t.same(status, { code: rpcCodeOf(refusal), message: refusal.message })
    t.equal(retryAfterS !== undefined, RETRYABLE.has(status.code), code)
    if (retryAfterS !== undefined) retried.push(code)
  }
  t.same(retried, ['quota_exhausted', 'too_many_requests', 'unavailable'])
  t.end()
})
