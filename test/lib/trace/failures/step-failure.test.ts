import fc from 'fast-check'
import t from 'tap'
import { failureOfStep } from '../../../../lib/trace/failures/step-failure.ts'
import { memberAt, nodeAt } from '../../../../plugins/dashboard/app/content/json-text.ts'
import { shownFailureOf } from '../../../../plugins/dashboard/app/trace/failure.ts'
import { runs } from '../../../torture/orders.ts'

const read = (step: { kind?: string; output?: unknown; attributes?: unknown; events?: unknown }) =>
  failureOfStep({
    kind: step.kind ?? 'llm',
    output: step.output === undefined ? null : JSON.stringify(step.output),
    attributes: step.attributes === undefined ? null : JSON.stringify(step.attributes),
    events: step.events === undefined ? null : JSON.stringify(step.events)
  })
const event = (attributes: unknown, name = 'exception') => ({ name, timestamp: '2026-11-21T12:00:00.000Z', attributes })

t.test('the last exception event states the failure, and attributes supply missing parts', async t => {
  const events = [
    event({ 'exception.type': 'First' }),
    event({ 'exception.type': 'Last', 'exception.message': 'm' }),
    event({ message: 'other' }, 'retry')
  ]
  t.same(read({ events }), { type: 'Last', message: 'm' })
  t.same(read({ events: [event({ 'exception.message': 'm' })], attributes: { 'error.type': 'T' } }), {
    type: 'T',
    message: 'm'
  })
  t.same(read({ attributes: { 'error.type': 'T', 'otel.status_description': 'said' } }), { type: 'T', message: 'said' })
  t.same(read({ attributes: { temperature: 1 }, events: [event(null)] }), { type: null, message: null })
  t.same(read({}), { type: null, message: null })
})

t.test('a failure is read from non-empty texts, whatever else is recorded', async t => {
  const none = { type: null, message: null }
  const thrown = (type: string) => event({ 'exception.type': type, 'exception.message': `a ${type}` })
  t.same(read({ attributes: { temperature: 0.2 }, events: [event({ reason: 'timeout' }, 'retry')] }), none)
  t.same(read({ attributes: { 'error.type': 5, 'error.message': '' } }), none, 'only texts count')
  t.same(read({ attributes: { 'error.type': 'x' }, events: [thrown('A'), thrown('B'), { name: 'end' }, null] }), {
    type: 'B',
    message: 'a B'
  })
  t.same(read({ attributes: { 'error.type': 'x' }, events: [event(null, 'error')] }), { type: 'x', message: null })
  t.same(read({ attributes: [], events: { name: 'exception' } }), none)
  t.same(read({ attributes: { ['__proto__']: { 'error.type': 'x' } } }), none)
  t.same(read({ attributes: { error: true }, output: { error: null } }), none)
})

t.test('an output that is an error states the failure', async t => {
  t.same(read({ output: { error: 'no stock' } }), { type: null, message: 'no stock' })
  t.same(read({ output: { error: { type: 'T', message: 'm' } } }), { type: 'T', message: 'm' })
  t.same(read({ kind: 'tool', output: 'no stock' }), { type: null, message: 'no stock' })
  t.same(read({ kind: 'llm', output: 'an answer' }), { type: null, message: null })
  t.same(read({ kind: 'tool', output: { isError: true, content: [{ type: 'text', text: 'no stock' }] } }), {
    type: null,
    message: 'no stock'
  })
  t.same(read({ attributes: { error: { code: 'E1', detail: 'd' } } }), { type: 'E1', message: 'd' })
  t.same(read({ output: { error: 'no stock' }, attributes: { 'error.type': 'T' } }), { type: 'T', message: 'no stock' })
})

t.test('long texts are cut between characters', async t => {
  const { type, message } = read({
    attributes: { 'error.type': '😀'.repeat(300), 'error.message': `a${'😀'.repeat(3000)}` }
  })
  t.equal(type, '😀'.repeat(100))
  t.equal(message, `a${'😀'.repeat(1999)}`)
})

t.test('the dashboard shows the same failure if events or attributes state it', async t => {
  const text = fc.constantFrom('', 'T', 'm')
  const names = fc.constantFrom(
    'exception.type',
    'error.type',
    'exception.message',
    'error.message',
    'message',
    'otel.status_description',
    'other'
  )
  const attributes = fc.dictionary(names, text, { maxKeys: 4 })
  const events = fc.array(fc.record({ name: fc.constantFrom('exception', 'error', 'retry'), attributes }), {
    maxLength: 3
  })
  fc.assert(
    fc.property(attributes, events, (attributes, events) => {
      const json = JSON.stringify({ attributes, events })
      const root = nodeAt(json)!
      const shown = shownFailureOf(json, memberAt(json, root, 'attributes'), memberAt(json, root, 'events'))
      const own = read({ attributes, events })
      t.same({ type: own.type ?? '', message: own.message ?? '' }, shown ?? { type: '', message: '' })
      return true
    }),
    runs(200)
  )
})
