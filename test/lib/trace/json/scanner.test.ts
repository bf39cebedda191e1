/** Compares the scanner with JSON.parse, and with a simple implementation of RFC 8785's canonical form. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { NOT_PLAIN, Scanner } from '../../../../lib/trace/json/scanner.ts'

const MAX_DEPTH = 100
const scanner = new Scanner()

/** Returns the canonical form of a text; undefined if the scanner reports that the text is not plain. */
function scan(text: string, maxDepth = MAX_DEPTH): string | undefined {
  try {
    scanner.start(text, maxDepth)
    const canonical = scanner.value()
    scanner.end()
    return canonical === '' ? text : canonical
  } catch (error) {
    if (error !== NOT_PLAIN) throw error
    return undefined
  }
}

/** Sorts names by their UTF-16 code units, and formats numbers and strings as JavaScript does. */
function canonicalForm(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalForm)}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalForm(member)}`)}}`
}

/**
 * Returns JSON for a value in an arbitrary notation: keys in any order, numbers and characters in any of their forms.
 */
function spell(value: unknown, draw: () => number): string {
  const pick = <T>(...choices: T[]): T => choices[draw() % choices.length] as T
  const spellText = (text: string): string => {
    const units = Array.from({ length: text.length }, (_, i) => text.charCodeAt(i))
    const hex = (unit: number) => unit.toString(16).padStart(4, '0')
    const plain = JSON.stringify(text).replaceAll('/', pick('/', '\\/'))
    return pick(plain, plain, `"${units.map(unit => `\\u${pick(hex(unit), hex(unit).toUpperCase())}`).join('')}"`)
  }
  if (typeof value === 'string') return spellText(value)
  if (typeof value === 'number') return pick(JSON.stringify(value), value.toExponential(), JSON.stringify(value))
  if (Array.isArray(value)) return `[${value.map(item => spell(item, draw)).join(',')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const members = Object.entries(value).map(([name, member]) => `${spellText(name)}:${spell(member, draw)}`)
  return `{${members.sort(() => pick(-1, 1)).join(',')}}`
}

const name = fc.oneof(fc.constantFrom('', '__proto__', '10', '9', 'é', '😀', '\uffff', '/', '"'), fc.string())
const { value: json } = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false, {}, []),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: fc.constantFrom('\ud800', '\udc00', '\\', '"', '/', '\n', 'a') }),
    fc.array(tie('value'), { maxLength: 4 }),
    // The object has more members than insertion sort handles.
    fc.dictionary(name, tie('value'), { maxKeys: 40, noNullPrototype: true })
  )
}))
const spelt = fc.tuple(json, fc.array(fc.nat(1000), { minLength: 50, maxLength: 50 })).map(([value, numbers]) => {
  let i = 0
  return spell(value, () => numbers[i++ % numbers.length] as number)
})

t.test('any JSON without whitespace gets its canonical form, however it is spelt', async () => {
  fc.assert(
    fc.property(spelt, text => assert.equal(scan(text), canonicalForm(JSON.parse(text)))),
    { numRuns: 1000 }
  )
})

t.test('of texts with one change, only valid JSON is accepted, with the right value', async () => {
  const pieces = [
    '',
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '0',
    '1',
    '.',
    'e',
    '-',
    '+',
    ' ',
    'u',
    'null',
    'x',
    '\u00a0'
  ]
  const change = fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom(...pieces))
  fc.assert(
    fc.property(spelt, change, (text, [place, cut, put]) => {
      const at = place % (text.length + 1)
      const changed = text.slice(0, at) + put + text.slice(at + cut)
      const canonical = scan(changed)
      // A number that no double can represent keeps its notation, so the values are compared.
      const meaning = (json: string) => canonicalForm(JSON.parse(json))
      if (canonical !== undefined) assert.equal(meaning(canonical), meaning(changed))
    }),
    { numRuns: 1500 }
  )
})

t.test('JSON that is not plain, and invalid JSON, is left to others', async t => {
  const many = Array.from({ length: 30 }, (_, i) => `"k${i}":1`)
  const spaced = ['', ' 1', '1 ', '[1, 2]', '{"a" :1}', '[ ]']
  const repeated = ['{"a":1,"a":2}', '{"b":1,"a":1,"b":1}', '{"a":1,"\\u0061":2}', `{${[...many, '"k7":1']}}`]
  const broken = [
    '01',
    '-',
    '+1',
    '1.',
    '.5',
    '1e',
    'NaN',
    'nul',
    'truee',
    '[1,]',
    '[,1]',
    '{"a"}',
    '{a:1}',
    '"a',
    '1 2'
  ]
  const escapes = ['"\\x41"', '"\\u12g4"', '"\\u12', '"\\', '"\\"']
  for (const text of [...spaced, ...repeated, ...broken, ...escapes]) t.equal(scan(text), undefined, text)
})

t.test('numbers get the form that JavaScript writes', async t => {
  const spellings = ['-0', '1.50', '1E2', '0.000001', '0.0000001', '100000000000000000000', '1000000000000000000000']
  for (const text of spellings) t.equal(scan(`[${text}]`), JSON.stringify([Number(text)]), text)
})

t.test('numbers that a double cannot hold have their normal form', async t => {
  for (const text of ['12345678901234567890', '1e+400', '[0.1234567890123456789,-9007199254740993]'])
    t.equal(scan(text), text)
  t.equal(scan('[1e400,9007199254740993.0,{"a":0.1e-399}]'), '[1e+400,9007199254740993,{"a":1e-400}]')
})

t.test('counts levels wherever they open and close', async t => {
  t.equal(scan('[{"a":[1]},[[]],{"b":{}}]', 3), '[{"a":[1]},[[]],{"b":{}}]')
  t.equal(scan('[{"a":[1]},[[]],{"b":{}}]', 2), undefined)
  t.equal(scan('['.repeat(101) + ']'.repeat(101)), undefined)
  t.equal(scan(`[${new Array(500).fill('[[]]')}]`, 3)?.length, 2501)
})

t.test('names are returned unescaped', async t => {
  scanner.start('"a":"\\u0062\\"":"":', MAX_DEPTH)
  t.strictSame([scanner.name(), scanner.name(), scanner.name()], ['a', 'b"', ''])
  scanner.start('"a" :', MAX_DEPTH)
  t.throws(() => scanner.name(), NOT_PLAIN)
})
