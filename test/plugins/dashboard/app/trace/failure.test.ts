import t from 'tap'
import { nodeAt } from '../../../../../plugins/dashboard/app/content/json-text.ts'
import { shownFailureOf } from '../../../../../plugins/dashboard/app/trace/failure.ts'

/** Returns the failure of a span with the given attributes and events. */
function read(attributes: unknown, events: unknown = []) {
  const texts = [JSON.stringify(attributes), JSON.stringify(events)]
  const text = texts.join(' ')
  return shownFailureOf(text, nodeAt(text), nodeAt(text, texts[0]!.length + 1))
}
const event = (name: string, attributes: unknown) => ({ name, timestamp: '2026-11-21T12:00:00.000Z', attributes })

t.test('the last exception gives the reason, or else the attributes', async t => {
  const first = event('exception', { 'exception.type': 'A', 'exception.message': 'one' })
  const last = event('exception', { 'exception.type': 'B', 'exception.message': 'two\nlines' })
  t.same(read({ 'error.type': 'C' }, [first, event('retry', {}), last]), { type: 'B', message: 'two\nlines' })
  t.same(read({ 'error.type': 'C' }, [event('exception', { message: 'so' })]), { type: 'C', message: 'so' })
  t.same(read({ 'error.type': 'C' }), { type: 'C', message: '' })
  t.same(read({ 'otel.status_description': 'said by OpenTelemetry' }), { type: '', message: 'said by OpenTelemetry' })
})

t.test('missing values, and values that are not text, are not a failure', async t => {
  for (const attributes of [{}, { 'error.type': 7 }, { 'error.message': '' }, [], 'x', null]) {
    t.equal(read(attributes, [event('retry', { message: 'again' }), event('exception', null), null]), undefined)
  }
})
