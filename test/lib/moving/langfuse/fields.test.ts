import { createHash } from 'node:crypto'
import { LosslessNumber } from 'lossless-json'
import t from 'tap'
import {
  isEmpty,
  isSame,
  keep,
  LangfuseFields,
  Mapping,
  mapId,
  present,
  readNumber
} from '../../../../lib/moving/langfuse/fields.ts'
import type { Json } from '../../../../lib/trace/json/exact-json.ts'

function fieldsOf(object: Record<string, Json>) {
  const mapping = new Mapping()
  return { fields: new LangfuseFields('observation', 'observation 3', object, mapping), counts: mapping.counts }
}

t.test('fields that nothing reads are kept under their names', async t => {
  const { fields, counts } = fieldsOf({
    id: 'x',
    model: 'm',
    odd: [1],
    same: 2,
    none: null,
    empty: {},
    level: 'DEFAULT'
  })
  t.equal(fields.take('model'), 'm')
  t.equal(fields.take('id', 'spanId'), 'x')
  t.equal(fields.take('none'), undefined)
  t.equal(fields.take('toString'), undefined)
  fields.drop('level')
  t.strictSame(fields.rest(), [
    ['odd', [1]],
    ['same', 2]
  ])
  t.strictSame(fields.rest({ same: 2, odd: [2] }), [['odd', [1]]], 'except for values in a field of that name')
  const target: Record<string, Json> = { 'langfuse.odd': 'taken' }
  fields.keepRest(target, 'attributes', { same: 2 })
  t.strictSame(target, { 'langfuse.odd': 'taken', 'langfuse.langfuse.odd': [1] })
  t.strictSame(Object.fromEntries(counts), {
    'observation.model → model': 1,
    'observation.id → spanId': 1,
    'observation.odd → attributes langfuse.odd': 1
  })
  fields.took('model', 'model')
  t.equal(counts.get('observation.model → model'), 1, 'a consumed field is counted once')
})

t.test('texts that do not fit are kept apart; a name is cut, and kept apart as well', async t => {
  const { fields } = fieldsOf({ short: '😀😀', long: '😀😀😀', number: 1, name: 'abc' })
  t.equal(fields.text('short', 2), '😀😀')
  t.equal(fields.text('long', 2), undefined)
  t.equal(fields.text('number', 2), undefined)
  t.equal(fields.name('long', 2, 'otherwise'), '😀😀')
  t.equal(fields.name('name', 3, 'otherwise'), 'abc')
  t.equal(fields.name('absent', 3, 'otherwise'), 'otherwise')
  t.strictSame(
    fields.rest().map(([name]) => name),
    ['long', 'number']
  )
})

t.test('times are returned in canonical form; an invalid one is rejected with its path', async t => {
  const { fields } = fieldsOf({ start: '2026-01-01 12:00:00+01:00', end: 'today', number: 5, id: 7 })
  t.equal(fields.time('start', 'startedAt'), '2026-01-01T11:00:00.000Z')
  t.equal(fields.time('absent', 'startedAt'), undefined)
  const refused: [() => unknown, string][] = [
    [() => fields.time('end', 'endedAt'), 'observation 3: end is not an ISO 8601 date and time'],
    [() => fields.time('number', 'endedAt'), 'observation 3: number is not an ISO 8601 date and time'],
    [() => fields.requiredTime('absent', 'endedAt'), 'observation 3: absent is missing'],
    [() => fields.id('id'), 'observation 3: id is missing, or not a string'],
    [() => fields.id('absent'), 'observation 3: absent is missing, or not a string']
  ]
  for (const [read, message] of refused) t.throws(read, { code: 'invalid_trace', message })
})

t.test('lists contain objects, and an object is a copy', async t => {
  const metadata = { a: 1 }
  const { fields } = fieldsOf({ scores: [{ id: 'x' }], words: ['x'], metadata, text: 'x' })
  t.strictSame(fields.list('scores', 'scores', 'ask for them'), [{ id: 'x' }])
  t.equal(fields.list('text', 'scores', ''), undefined)
  t.throws(() => fields.list('words', 'scores', 'ask for more'), {
    message: 'observation 3: words must be objects: ask for more'
  })
  fields.object('metadata').b = 2
  t.strictSame(metadata, { a: 1 })
  t.strictSame(fields.object('text'), {})
  t.strictSame(
    fields.rest().map(([name]) => name),
    ['words', 'text']
  )
})

t.test('valid ids are preserved, and others always yield the same id', async t => {
  t.equal(mapId('ABCDEF0123456789', 16), 'abcdef0123456789')
  const hash = (id: string) => createHash('sha256').update(id).digest('hex')
  for (const id of ['abcdef012345678', 'abcdef012345678g', 'cl-x', 'a'.repeat(32)])
    t.equal(mapId(id, 16), hash(id).slice(0, 16))
  t.equal(mapId('cl-x', 32), hash('cl-x').slice(0, 32))
})

t.test('values are read by their meaning', async t => {
  const empty = [undefined, null, '', [], {}]
  const full = [0, false, ' ', [null], { a: null }, new LosslessNumber('0')]
  t.strictSame([...empty, ...full].map(isEmpty), [...empty.map(() => true), ...full.map(() => false)])
  const numbers = [1.5, '1.5', new LosslessNumber('1.5'), '', ' ', 'x', '1e999', Number.NaN, true, null]
  t.strictSame(numbers.map(readNumber), [1.5, 1.5, 1.5, ...new Array(7).fill(undefined)])
  t.ok(isSame(new LosslessNumber('1'), 1))
  t.notOk(isSame(undefined, undefined))
  t.strictSame(present({ a: undefined, b: null }), { b: null })
  const target: Record<string, Json> = {}
  for (const value of [1, 2, 3]) keep(target, 'x', value)
  t.strictSame(target, { 'langfuse.x': 1, 'langfuse.langfuse.x': 2, 'langfuse.langfuse.langfuse.x': 3 })
})
