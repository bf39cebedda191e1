import t from 'tap'
import { failureOf } from '../../../lib/trace/failure.ts'

t.test('a failure is read from the last exception event, then from attributes', async t => {
  const none = { type: null, message: null }
  const of = (attributes: unknown, events: unknown = []) =>
    failureOf(JSON.stringify(attributes), JSON.stringify(events))
  t.same(failureOf(null, null), none)
  t.same(of({ temperature: 0.2 }, [{ name: 'retry', attributes: { reason: 'timeout' } }]), none)
  t.same(of({ 'error.type': '429', 'otel.status_description': 'Too many' }), { type: '429', message: 'Too many' })
  t.same(of({ 'error.type': 5, 'error.message': '' }), none, 'only texts count')
  const thrown = (type: string) => ({
    name: 'exception',
    attributes: { 'exception.type': type, 'exception.message': `a ${type}` }
  })
  t.same(of({ 'error.type': 'x' }, [thrown('A'), thrown('B'), { name: 'end' }]), { type: 'B', message: 'a B' })
  t.same(of({ 'error.type': 'x' }, [{ name: 'error', attributes: null }]), { type: 'x', message: null })
  t.same(of([], { name: 'exception' }), none)
  t.same(of({ ['__proto__']: { 'error.type': 'x' } }), none)
})
