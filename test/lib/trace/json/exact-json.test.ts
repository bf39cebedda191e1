import assert from 'node:assert/strict'
import canonicalizeOracle from 'canonicalize'
import fc from 'fast-check'
import t from 'tap'
import {
  canonicalise,
  decodeText,
  inspectText,
  parseExact,
  stringifyExact
} from '../../../../lib/trace/json/exact-json.ts'
import { runs } from '../../../torture/orders.ts'

const json = fc.jsonValue({ maxDepth: 5, stringUnit: 'grapheme' })

t.test('writes the canonical form that RFC 8785 requires', async () => {
  fc.assert(
    fc.property(json, value => {
      const text = JSON.stringify(value)
      assert.equal(canonicalise(JSON.parse(text), text), canonicalizeOracle(JSON.parse(text)))
    }),
    runs(150)
  )
})

t.test('the canonical form ignores the order of keys, whatever their names', async () => {
  const keys = ['10', '9', 'a', 'B', '', '__proto__', 'constructor', 'é', '\u20ac', '\ud83d\ude00', 'a"b', '-1', '01']
  fc.assert(
    fc.property(fc.shuffledSubarray(keys), fc.shuffledSubarray(keys), (inner, outer) => {
      const object = (names: string[], value: string) =>
        `{${names.map(n => `${JSON.stringify(n)}:${value}`).join(',')}}`
      const sent = object(outer, object(inner, '1'))
      const sorted = object(outer.toSorted(), object(inner.toSorted(), '1'))
      assert.equal(canonicalise(parseExact(sent)), sorted)
    })
  )
})

t.test('preserves numbers that a double cannot hold, and compares them by value', async t => {
  const literals: [string, string][] = [
    ['12345678901234567890', '12345678901234567890'],
    ['1234567890123456789e1', '12345678901234567890'],
    ['-9007199254740993.0', '-9007199254740993'],
    ['9.007199254740993E+15', '9007199254740993'],
    ['123456789.123456789012340', '123456789.12345678901234'],
    ['10e399', '1e+400'],
    ['-1E+400', '-1e+400'],
    ['0.1e-399', '1e-400'],
    ['0.10000000000000000001', '0.10000000000000000001'],
    ['10e99999999999999999998', '1e+99999999999999999999']
  ]
  for (const [literal, canonical] of literals) {
    const text = `{"b":[${literal}],"a":{"__proto__":${literal}},"s":"${literal} \\" ${literal}"}`
    t.equal(inspectText(text).inexact, true, literal)
    t.equal(stringifyExact(parseExact(text)), text)
    t.equal(
      canonicalise(parseExact(text)),
      `{"a":{"__proto__":${canonical}},"b":[${canonical}],"s":"${literal} \\" ${literal}"}`
    )
  }
})

t.test('preserves the spelling of numbers, and compares them by value', async t => {
  const literals: [string, string][] = [
    ['1.0', '1'],
    ['-0', '0'],
    ['0.0', '0'],
    ['-1.50', '-1.5'],
    ['1E2', '100'],
    ['1e+21', '1e+21'],
    ['0.0000001', '1e-7'],
    ['100000000000000000000', '100000000000000000000'],
    [`${'1'.repeat(100)}`, `${'1'.repeat(100)}`],
    [`1${'0'.repeat(40)}`, '1e+40'],
    [`0.5${'0'.repeat(98)}`, '0.5']
  ]
  for (const [literal, canonical] of literals) {
    const text = `{"a":${literal},"b":[${literal}]}`
    t.equal(inspectText(text).inexact, String(Number(literal)) !== literal, literal)
    t.equal(stringifyExact(parseExact(text)), text)
    t.equal(canonicalise(parseExact(text)), `{"a":${canonical},"b":[${canonical}]}`)
  }
})

t.test('uses the fast path for numbers that JavaScript writes in the same way, and for digits in strings', async t => {
  const texts = [
    '[0.012345678901234567]',
    '[100000000000000000000,1e+21,1.5e+300,-7,0,0.25,123456789012345]',
    '{"a\\\\":"12345678901234567890","b":"1.0"}'
  ]
  for (const text of texts) t.equal(inspectText(text).inexact, false, text)
})

t.test('counts nesting levels only outside strings', async t => {
  t.equal(inspectText('1').depth, 0)
  t.equal(inspectText('[]').depth, 1)
  t.equal(inspectText('{"a":[{"b":"[[[["}],"c":{}}').depth, 3)
  t.equal(inspectText('["\\\\\\"[[",{"\\\\":[[]]}]').depth, 4)
  t.equal(inspectText('['.repeat(5000) + ']'.repeat(5000)).depth, 5000)
})

t.test('the last of duplicate keys applies, on both paths', async t => {
  t.equal(stringifyExact(parseExact('{"a":1,"b":2,"a":3}')), '{"a":3,"b":2}')
  t.equal(stringifyExact(parseExact('{"a":1e400,"b":2,"a":3}')), '{"a":3,"b":2}')
})

t.test('preserves U+0000 and unpaired surrogates in free JSON', async t => {
  const text = '["\\u0000","\\ud800","\\udc00\\ud800"]'
  t.equal(stringifyExact(parseExact(text)), text)
  t.equal(canonicalise(parseExact(text)), text)
})

t.test('decodes UTF-8 and removes a byte-order mark', async t => {
  t.equal(decodeText(Buffer.from('abc')), 'abc')
  t.equal(decodeText(Buffer.from('\ufeff{"é":1}')), '{"é":1}')
  t.equal(decodeText(Buffer.from([0xc3])), undefined)
  t.equal(decodeText(Buffer.from([0xed, 0xa0, 0x80])), undefined)
})

t.test('decodes UTF-8 of any characters and lengths, in shared memory too', async () => {
  const shared = (text: string) => {
    const bytes = Buffer.from(text)
    const memory = new Uint8Array(new SharedArrayBuffer(bytes.length + 1), 1)
    memory.set(bytes)
    return memory
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(70_000), (text, repeats) => {
      const long = `a${text}`.toWellFormed().repeat(1 + (repeats % 300))
      assert.equal(decodeText(Buffer.from(long)), long)
      assert.equal(decodeText(shared(long)), long)
    }),
    runs(150)
  )
})

t.test('parsing stops at the end of a truncated string', async t => {
  for (const text of ['"', '{"a', '["\\"', '{"a":"b\\\\\\']) t.match(inspectText(text), { inexact: false }, text)
})
