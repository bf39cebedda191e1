/** Tests the entries that the filter box offers for typed text. */
import t from 'tap'
import { entriesFor, lastPart, loneValue } from '../../../../../plugins/dashboard/app/list/filter-entries.ts'
import { FIELDS, parseFilters } from '../../../../../plugins/dashboard/app/state/filter-text.ts'

const labels = (typed: string, values: readonly (readonly [string, number])[] = []) =>
  entriesFor(typed, { values: values.map(([value, traces]) => ({ value, traces })), newest: null }).map(
    ({ label }) => label
  )

t.test('an empty box offers every field, and typed text the matching fields and a search for the words', async t => {
  t.equal(labels('').length, FIELDS.length)
  t.same(labels('sta'), ['status:', 'stepstatus:', 'Search for “sta”'])
  t.same(labels('model:m refund'), ['Search for “model:m refund”'])
  t.same(labels('nothing:x'), [])
})

t.test('a field offers its values, those that begin with the typed text first', async t => {
  const values = [
    ['prompt:v12', 9],
    ['vip', 4],
    ['a b', 1]
  ] as const
  t.same(labels('tag:', values), ['prompt:v12', 'vip', 'a b'])
  t.same(labels('tag:V', values), ['vip', 'prompt:v12'])
  t.same(labels('status:'), ['error', 'ok', 'running', 'unset'])
  t.same(labels('duration:'), [])
  const [entry] = entriesFor('status:ok tag:"a', { values: [{ value: 'a b', traces: 1 }], newest: null })
  t.same(entry, { label: 'a b', count: 1, text: 'status:ok tag:"a b"', isComplete: true })
  t.same(parseFilters(entry!.text).terms, [
    { filter: 'status', value: 'ok' },
    { filter: 'tag', value: 'a b' }
  ])
  const [score] = entriesFor('score:help', { values: [{ value: 'helpfulness', traces: 2 }], newest: null })
  t.same(score, { label: 'helpfulness', count: 2, text: 'score:helpfulness<', isComplete: false })
  t.same(entriesFor('cost:', undefined), [{ label: 'none', text: 'cost:none', isComplete: true }])
  t.same(entriesFor('cost:>', undefined), [])
  t.same(entriesFor('failed:', undefined), [{ label: 'yes', text: 'failed:yes', isComplete: true }])
})

t.test('the last part is the part being typed', async t => {
  t.match(lastPart('status:ok na'), { before: 'status:ok ', part: 'na', field: undefined })
  t.match(lastPart('status:ok '), { before: 'status:ok ', part: '' })
  t.match(lastPart('name:"two wor'), { before: '', field: { name: 'name' }, value: 'two wor' })
})

t.test('Enter chooses the only value or field that begins with the typed text', async t => {
  const values = (...names: string[]) => ({ values: names.map(value => ({ value, traces: 1 })), newest: null })
  const taken = (typed: string, known = values()) => loneValue(entriesFor(typed, known), typed)?.text
  t.equal(taken('name:sup', values('support-agent')), 'name:support-agent')
  t.equal(taken('status:e'), 'status:error', 'unset contains an e, but does not begin with one')
  t.equal(taken('status:ok name:"sup', values('support agent')), 'status:ok name:"support agent"')
  t.equal(taken('name:sup', values('support-agent', 'supply')), undefined, 'two values')
  t.equal(taken('name:support-agent', values('support-agent')), undefined, 'it is complete')
  t.equal(taken('name:agent', values('support-agent')), undefined, 'it does not begin with the text')
  t.equal(taken('name:', values('support-agent')), undefined, 'nothing is typed')
  t.equal(taken('status:er'), 'status:error')
  t.equal(taken('score:help', values('helpfulness')), 'score:helpfulness<')
  t.equal(taken('annot'), 'annotated:')
  t.equal(taken('ste'), undefined, 'two fields')
  t.equal(taken('weather today'), undefined)
})
