/** Tests the steps of a trace, with a recorder in place of a client. */
import t from 'tap'
import { describeError, optionsFirst } from '../../../../clients/typescript/record/step.ts'
import { Trace } from '../../../../clients/typescript/record/trace.ts'
import { collecting } from '../../../fixtures/client/collecting.ts'

/** Returns the recorded trace. */
function recordedOf({ parts }: ReturnType<typeof collecting>) {
  const record = parts.find(({ kind }) => kind === 'record')
  return JSON.parse(record!.body).trace
}

t.test('values are recorded as they were when they were passed', t => {
  const collected = collecting()
  const trace = new Trace(collected.recorder, 'agent', { input: { n: 1 } })
  const list = [1]
  const span = trace.startSpan('step', { input: list, kind: 'tool', attributes: { a: 1 } })
  list.push(2)
  span.setAttributes({ b: new Date(0) }).addEvent('seen', { at: 3n })
  span.end({ output: 'out', costUsd: 0.5 })
  span.end({ output: 'later' })
  t.ok(span.isEnded)
  trace.end()
  const { spans } = recordedOf(collected)
  t.match(spans, [
    {
      ...{ name: 'step', kind: 'tool', status: 'unset', input: [1], output: 'out', costUsd: 0.5 },
      ...{ attributes: { a: 1, b: '1970-01-01T00:00:00.000Z' }, events: [{ name: 'seen', attributes: { at: '3' } }] }
    }
  ])
  t.end()
})

t.test('an error becomes an event and the status, and recording it never fails', t => {
  const collected = collecting()
  const trace = new Trace(collected.recorder, 'agent')
  const span = trace.startSpan('step')
  span.recordError(new TypeError('no'))
  span.recordError('just a text')
  span.end()
  trace.recordError(Object.assign(new Error('whole'), { cause: trace }))
  trace.end()
  const { status, metadata, spans } = recordedOf(collected)
  t.equal(status, 'error')
  t.match(metadata.error, { name: 'Error', message: 'whole' })
  t.match(spans[0], {
    status: 'error',
    events: [
      { name: 'exception', attributes: { 'exception.type': 'TypeError', 'exception.message': 'no' } },
      { name: 'exception', attributes: { 'exception.message': 'just a text' } }
    ]
  })
  t.match(describeError(new RangeError('r')), { 'exception.type': 'RangeError' })
  t.end()
})

t.test('usage of inner steps is added up for an outer step that states none', t => {
  const collected = collecting()
  const trace = new Trace(collected.recorder, 'agent')
  const outer = trace.startSpan('outer')
  for (const inputTokens of [1, 2])
    outer.startSpan('model', { kind: 'llm', model: 'm' }).end({ usage: { inputTokens } })
  outer.end()
  trace.startSpan('other').end({ usage: { inputTokens: 10 }, costUsd: 1 })
  trace.end()
  t.match(recordedOf(collected), { model: 'm', usage: { inputTokens: 13 }, costUsd: 1 })
  t.end()
})

t.test('names and numbers that the server would reject are corrected', t => {
  const collected = collecting()
  const trace = new Trace(collected.recorder, '', { usage: { inputTokens: -1 }, costUsd: Number.NaN })
  trace.startSpan('x'.repeat(2000), { kind: 'odd' as 'tool', startedAt: 'never' }).end({ endedAt: new Date(0) })
  trace.end()
  const { name, usage, costUsd, spans } = recordedOf(collected)
  t.equal(name, 'unnamed')
  t.same([usage, costUsd], [undefined, undefined])
  t.equal(spans[0].name.length, 500)
  t.equal(spans[0].kind, 'custom')
  t.ok(spans[0].endedAt >= spans[0].startedAt)
  t.end()
})

t.test('options can be omitted before a function', t => {
  const act = () => 1
  t.same(optionsFirst([act]), [{}, act])
  t.same(optionsFirst([{ a: 1 }, act]), [{ a: 1 }, act])
  t.end()
})
