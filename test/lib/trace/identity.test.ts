/** Checks that bodies that differ in any one field have different hashes (specification 3.1). */
import t from 'tap'
import { EndBody, SpanInput, TraceInput } from '../../../lib/schema/input.ts'
import { prepare } from '../../../lib/trace/prepare.ts'
import { bytes } from '../../fixtures/database/write-path.ts'

const [START, END, LATER] = ['2026-01-05T12:00:00Z', '2026-01-05T12:00:02Z', '2026-01-05T12:00:03Z']
const ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = { id: '00f067aa0ba902b7', name: 'step', startedAt: START, endedAt: END }
const TRACE = { id: ID, name: 'run', startedAt: START, endedAt: END }

/** For each field, a value that differs from the field's default. */
const OTHER: Readonly<Record<string, unknown>> = {
  ...{ id: 'ab'.repeat(16), parentSpanId: 'cd'.repeat(8), name: 'other', kind: 'tool', status: 'error' },
  ...{ startedAt: '2026-01-05T11:59:59Z', endedAt: LATER, provider: 'p', model: 'm', sessionId: 's', userId: 'u' },
  ...{ tags: ['t'], input: 1, output: 2, metadata: { a: 1 }, attributes: { a: 1 }, costUsd: 3, spans: [SPAN] },
  ...{ usage: { inputTokens: 4 }, events: [{ name: 'e', timestamp: START }] }
}
const fields = ({ properties }: { properties: object }) =>
  Object.keys(properties).filter(name => name !== 'schemaVersion')

t.test('each field of a trace is part of its identity', async t => {
  const hashOf = (trace: object) => prepare('record', bytes({ schemaVersion: 1, trace })).hash
  for (const name of fields(TraceInput)) t.not(hashOf({ ...TRACE, [name]: OTHER[name] }), hashOf(TRACE), name)
})

t.test('each field of a span is part of its identity', async t => {
  const hashOf = (span: object) => prepare('append', bytes({ schemaVersion: 1, spans: [span] })).spans[0]?.hash
  for (const name of fields(SpanInput)) {
    const value = name === 'id' ? 'ef'.repeat(8) : OTHER[name]
    t.not(hashOf({ ...SPAN, [name]: value }), hashOf(SPAN), name)
  }
})

t.test('each field of an end is part of its identity', async t => {
  const hashOf = (end: object) => prepare('end', bytes({ schemaVersion: 1, endedAt: END, ...end })).hash
  for (const name of fields(EndBody)) t.not(hashOf({ [name]: OTHER[name] }), hashOf({}), name)
})
