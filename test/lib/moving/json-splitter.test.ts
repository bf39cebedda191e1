import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type SplitValue, splitValues } from '../../../lib/moving/json-splitter.ts'

/** Splits a text that arrives in pieces of a given size. */
async function split(text: string | Uint8Array, piece = 7, maxBytes?: number): Promise<[string, string][]> {
  const bytes = Buffer.from(text)
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece)
  }
  const values: SplitValue[] = []
  for await (const value of splitValues(pieces(), maxBytes)) values.push(value)
  return values.map(({ place, bytes, fault }) => [place, fault ?? Buffer.from(bytes).toString()])
}

const CUT = 'is truncated or not JSON: the file ends within it'

t.test('lines: each by itself, numbered as in an editor', async t => {
  t.same(await split('{"a":1}\n{"b":2}\n'), [
    ['line 1', '{"a":1}'],
    ['line 2', '{"b":2}']
  ])
  t.same(
    await split('\n{"a":1}\r\n  \n\ufefftwo\n{"b":2}'),
    [
      ['line 2', '{"a":1}\r'],
      ['line 4', '\ufefftwo'],
      ['line 5', '{"b":2}']
    ],
    'blank lines are skipped, and the last line needs no line break'
  )
  t.same(await split('{"a":1}\n{"b":'), [
    ['line 1', '{"a":1}'],
    ['line 2', CUT]
  ])
  t.same(await split(''), [])
  t.same(await split(' \n\n'), [])
  t.same(await split('{'), [['line 1', CUT]])
  t.same(await split('{}'), [['line 1', '{}']])
})

t.test('the elements of an array, in any layout', async t => {
  t.same(await split('[{"a":[1,"]"]},\n {"b":"\\"}"} ]\n'), [
    ['element 1', '{"a":[1,"]"]}'],
    ['element 2', '{"b":"\\"}"} ']
  ])
  t.same(await split('\ufeff [1,"a,b",null]'), [
    ['element 1', '1'],
    ['element 2', '"a,b"'],
    ['element 3', 'null']
  ])
  t.same(await split('[]'), [])
  t.same(await split('[{"a":1},{"b":'), [
    ['element 1', '{"a":1}'],
    ['element 2', 'is truncated: the file ends within it']
  ])
  t.same(await split('[{"a":1},'), [
    ['element 1', '{"a":1}'],
    ['element 2', 'is truncated: the file ends within it']
  ])
  t.same(await split('[1] what'), [
    ['element 1', '1'],
    ['element 2', 'is truncated: the file ends within it']
  ])
})

t.test('documents that span several lines', async t => {
  t.same(await split('{\n  "a": {"b": "}"}\n}\n{\n  "c": []\n}'), [
    ['document 1', '{\n  "a": {"b": "}"}\n}'],
    ['document 2', '{\n  "c": []\n}']
  ])
  t.same(await split('{\r\n"a":1}\nnonsense\n{\n}'), [
    ['document 1', '{\r\n"a":1}'],
    ['document 2', 'nonsense'],
    ['document 3', '{\n}']
  ])
})

t.test('a value that is too long is dropped, and affects nothing else', async t => {
  const long = `{"a":"${'x'.repeat(100)}"}`
  for (const [text, place] of [
    [`{"b":1}\n${long}\n{"c":1}\n`, 'line'],
    [`[{"b":1},${long},{"c":1}]`, 'element'],
    [`{\n"b":1}\n${long}\n{"c":1}`, 'document']
  ]) {
    const values = await split(text!, 7, 50)
    t.same(
      values.map(([place]) => place),
      [`${place} 1`, `${place} 2`, `${place} 3`]
    )
    t.match(values[1]?.[1], /has \d+ bytes, but at most 50 are allowed/)
    t.equal(values[2]?.[1], '{"c":1}')
  }
})

t.test('any values are preserved, wherever the chunks are cut', async () => {
  const layouts: ((texts: string[], value: unknown[]) => string)[] = [
    texts => `${texts.join('\n')}\n`,
    texts => `[${texts.join(',')}]`,
    (_, values) => JSON.stringify(values, null, 2),
    (_, values) => values.map(value => JSON.stringify({ value }, null, 1)).join('\n')
  ]
  const objects = fc.array(fc.record({ value: fc.jsonValue({ maxDepth: 3 }) }), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(objects, fc.nat(3), fc.integer({ min: 1, max: 40 }), async (values, layout, piece) => {
      const wrapped = layout === 3 ? values.map(value => ({ value })) : values
      const text = layouts[layout]!(
        values.map(value => JSON.stringify(value)),
        values
      )
      const found = await split(text, piece)
      assert.deepEqual(
        found.map(([, text]) => JSON.stringify(JSON.parse(text))),
        wrapped.map(value => JSON.stringify(value))
      )
    })
  )
})

t.test('reads a long blank beginning once, in chunks of any size', async t => {
  let looked = 0
  class Watched extends Uint8Array {
    override *[Symbol.iterator]() {
      for (let i = 0; i < this.length; i++) {
        looked++
        yield this[i] as number
      }
      return undefined
    }
  }
  async function* pieces() {
    for (let i = 0; i < 500; i++) yield new Watched(10).fill(32)
    yield new Watched(Buffer.from('[1,2]'))
  }
  const { concat } = Buffer
  t.intercept(Buffer, 'concat', {
    value: (list: Uint8Array[]) => {
      for (const each of list) looked += each.length
      return concat(list)
    }
  })
  const values: string[] = []
  for await (const { place } of splitValues(pieces())) values.push(place)
  t.same(values, ['element 1', 'element 2'])
  t.ok(looked <= 2 * 5005, `${looked} bytes read or copied, of 5005`)
})
