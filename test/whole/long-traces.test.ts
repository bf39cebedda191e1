/** A trace of 10,000 spans goes through everything that reads, moves or deletes traces. */
import t from 'tap'
import { TRUNCATED } from '../../lib/schema/otlp.ts'
import { checkTotals } from '../../lib/store/write/totals.ts'
import { exportsOf, type LongTrace, longTrace } from '../fixtures/bodies/long-trace.ts'
import { type TestService, testService } from '../fixtures/service/service.ts'

const TRACES = '/api/v1/traces'
const PROTOBUF = { 'content-type': 'application/x-protobuf' }

async function send(service: TestService, trace: LongTrace): Promise<void> {
  for (const body of exportsOf(trace)) {
    const { status } = await service.call('POST', '/api/v1/otlp/v1/traces', { body, headers: PROTOBUF })
    if (status !== 200) throw new Error(`an export was answered ${status}`)
  }
}

t.test('beyond OTLP_MAX_TRACE_BYTES the texts of spans are cut, and the steps stay', async t => {
  const service = await testService(t, { config: { maxTraceBytes: 1024 ** 2 } })
  const { call, database } = service
  const trace = longTrace(1200, 4000)
  await send(service, trace)
  const { body } = await call('GET', `${TRACES}/${trace.traceId}`)
  t.match(body.trace, { name: 'long run', status: 'ok', spanCount: 1200 })
  t.equal(body.spans.length, 1200)
  const isCut = (span: { attributes: object }) => TRUNCATED in span.attributes
  const calls = body.spans.filter(({ kind }: { kind: string }) => kind === 'llm')
  const cut = calls.filter(isCut)
  t.ok(cut.length > 100 && cut.length < calls.length, `${cut.length} of ${calls.length} calls are cut`)
  t.match(cut[0], { input: null, usage: { inputTokens: 3 }, model: 'm' })
  t.match(cut[0].attributes[TRUNCATED][0], { place: 'input', bytes: 3999, limit: 'OTLP_MAX_TRACE_BYTES' })
  t.equal(body.trace.usage.inputTokens, 3 * calls.length)

  const before = body.trace
  await send(service, trace)
  t.same((await call('GET', `${TRACES}/${trace.traceId}`)).body.trace, before, 'a resend changes nothing')
  const { rows, counters } = await database.pool.run(sql => checkTotals(sql, 1, false))
  t.same(counters, rows)
})
