import t from 'tap'
import { prepare } from '../../../lib/trace/prepare.ts'
import { ingestBody } from './bodies.ts'
import { COST_PLACE, createIdentities, createTemplate, DURATION_PLACE, END_PLACE, NUMBER_PLACE } from './template.ts'

t.test('stamping changes only the values that must differ between traces', async t => {
  const body = Buffer.from(JSON.stringify(ingestBody('typical', 0)))
  const template = createTemplate(Buffer.from(body))
  const identities = createIdentities(1)
  const stamped = Array.from({ length: 20 }, () => {
    identities.next()
    identities.stamp(template)
    return prepare('record', template.bytes)
  })
  t.equal(new Set(stamped.map(trace => trace.traceId)).size, 20)
  t.equal(new Set(stamped.map(trace => trace.hash)).size, 20)
  t.equal(new Set(stamped.map(trace => trace.sessionId)).size, 3, 'eight traces form a session')
  t.ok(new Set(stamped.map(trace => trace.costUsd)).size > 15, 'nearly all costs differ')
  t.ok(new Set(stamped.map(trace => trace.endedAt)).size > 15, 'and so do the durations')
  t.equal(stamped[0]!.startedAt, '2026-01-01T00:00:00.000Z')
  t.equal(stamped[19]!.startedAt, '2026-01-01T00:01:00.000Z', 'sixteen traces share a minute')
  t.equal(stamped[0]!.spans[0]!.startedAt, stamped[0]!.startedAt)
  const original = prepare('record', body)
  for (const trace of stamped) {
    t.equal(trace.name, original.name)
    t.strictSame(
      trace.spans.map(span => [span.id, span.input]),
      original.spans.map(span => [span.id, span.input])
    )
  }
})

t.test('a row contains the duration that its body implies', async t => {
  const identities = createIdentities(1)
  const body = createTemplate(Buffer.from(JSON.stringify(ingestBody('typical', 0))))
  const row = createTemplate(Buffer.from(`${END_PLACE}\t${DURATION_PLACE}\t${COST_PLACE}`))
  for (let i = 0; i < 20; i++) {
    identities.next()
    for (const template of [body, row]) identities.stamp(template)
    const { startedAt, endedAt, costUsd } = prepare('record', body.bytes)
    const [end, duration, cost] = row.bytes.toString().split('\t')
    t.equal(`${end}Z`, endedAt)
    t.equal(Number(duration), Date.parse(endedAt as string) - Date.parse(startedAt))
    t.equal(Number(cost), costUsd)
  }
})

t.test('numbers are written at their full width', async t => {
  const template = createTemplate(Buffer.from(`a\t${NUMBER_PLACE}\t${NUMBER_PLACE}\n`))
  const identities = createIdentities(41)
  identities.next()
  identities.next()
  identities.stamp(template)
  t.equal(template.bytes.toString(), 'a\t000000000000042\t000000000000042\n')
})
