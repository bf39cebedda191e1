/** Words, texts and segments, without a database. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  BUCKETS,
  bucketOf,
  findTraces,
  keepMembers,
  makeBuckets,
  packMembers,
  readMembers
} from '../../../lib/search/segment.ts'
import { SEARCHED, searchedTexts, stringsOf } from '../../../lib/search/texts.ts'
import { findIn, readWanted } from '../../../lib/search/wanted.ts'
import { fold, runsOf, termOf, termsOf } from '../../../lib/search/words.ts'
import { runs } from '../../torture/orders.ts'

const rest = async () => {}
/** Whatever a JavaScript text can be: unpaired surrogates, marks, scripts of all kinds. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.array(fc.nat(0xffff)).map(units => String.fromCharCode(...units)),
  fc.string({
    unit: fc.constantFrom('a', 'B', 'ß', 'é', 'e\u0301', '東', 'タ', '서', 'ภ', 'ั', '𠮷', '1', ' ', '-', '"')
  })
)
const wordsOf = (text: string) => runsOf(text).map(({ start, end }) => text.slice(start, end))

t.test('texts are taken apart into words, and those of scripts without spaces into runs', t => {
  const cases: [string, string[]][] = [
    ["Don't order_no-17, please!", ['Don', 't', 'order', 'no', '17', 'please']],
    ['東京タワーへ 2024年', ['東京タワーへ', '2024', '年']],
    ['GPT模型 ภาษาไทย', ['GPT', '模型', 'ภาษาไทย']],
    ['हिन्दी में e\u0301te\u0301 𠮷野家 😀', ['हिन्दी', 'में', 'e\u0301te\u0301', '𠮷野家']]
  ]
  for (const [text, words] of cases) t.same(wordsOf(text), words)
  for (const same of [
    ['ÉTÉ', 'e\u0301te\u0301', 'ete'],
    ['STRASSE', 'Straße'],
    ['ΟΔΟΣ', 'οδός'],
    ['ｶﾞ', 'ガ'],
    ['İ', 'i']
  ]) {
    t.equal(new Set(same.map(fold)).size, 1, same.join(' '))
  }
  t.end()
})

t.test('a query finds each text that it was taken from, by its terms and by its words', t => {
  fc.assert(
    fc.property(anyText, anyText, (text, around) => {
      const whole = `${around} ${text} ${around}`
      const run = runsOf(text)[0]
      if (run === undefined || run.end - run.start > 100) return
      const word = text.slice(run.start, run.end)
      const wanted = readWanted(word)!
      const terms = new Set(termsOf([whole]))
      assert.ok(wanted.terms.every(term => terms.has(term)))
      const found = findIn(
        [
          { place: 'name', text: '' },
          { place: 'input', text: whole }
        ],
        wanted
      )
      assert.ok(found !== undefined, JSON.stringify(word))
      assert.ok(found.text.isWellFormed() && found.text.length <= 242)
      let last = 0
      for (const [start, end] of found.marks) {
        assert.ok(start >= last && start < end && end <= found.text.length)
        last = end
      }
    }),
    runs(300)
  )
  t.equal(readWanted(' -!「」 '), undefined)
  t.end()
})

t.test('phrases are found side by side, other words anywhere', t => {
  const texts = searchedTexts({
    name: 'agent',
    input: JSON.stringify({ messages: [{ role: 'user', content: 'Where is my\n  "blue" order 17?' }] }),
    output: '"東京タワーへ行く"',
    calls: []
  })
  const marked = (query: string) => {
    const found = findIn(texts, readWanted(query)!)
    return found?.marks.map(([start, end]) => found.text.slice(start, end))
  }
  t.same(marked('BLUE where'), ['Where', 'blue'])
  t.same(marked('"my blue order"'), ['my "blue" order'])
  t.equal(marked('"blue my"'), undefined)
  t.same(marked('order-17'), ['order 17'])
  t.same(marked('タワー'), ['タワー'])
  t.same(marked('行 agent'), ['行'])
  t.equal(marked('京ワ'), undefined, 'not side by side')
  t.equal(marked('user'), undefined, 'a role is no text')
  t.equal(marked('content'), undefined, 'nor is a key')
  t.end()
})

t.test('of any JSON the strings are taken, as many as are allowed, and no half characters', t => {
  const valuesOf = (value: unknown): string[] => {
    if (typeof value === 'string') return value === '' || value.startsWith('data:') ? [] : [value]
    if (typeof value !== 'object' || value === null) return []
    return (Array.isArray(value) ? value : Object.values(value)).flatMap(valuesOf)
  }
  fc.assert(
    fc.property(
      fc.jsonValue({ noUnicodeString: false, stringUnit: 'binary' }),
      fc.nat(60),
      fc.nat(400),
      (value, most, cut) => {
        const json = JSON.stringify(value)
        const whole = valuesOf(value)
        const all = stringsOf(json, Number.POSITIVE_INFINITY)
        if (json.length <= SEARCHED.json) assert.deepEqual(all, whole)
        const some = stringsOf(json, most)
        assert.ok(some.join('').length <= most)
        for (const [i, text] of some.entries()) assert.ok(all[i]!.startsWith(text))
        for (const text of [...some, ...stringsOf(json.slice(0, cut), 1000)])
          assert.doesNotMatch(text, /[\ud800-\udbff]$/)
      }
    ),
    runs(300)
  )
  const calls = Array.from({ length: 50 }, (_, i) => ({
    input: JSON.stringify(`${i} ${'x'.repeat(1000)}`),
    output: '"same"'
  }))
  const texts = searchedTexts({ name: 'n', input: JSON.stringify('y'.repeat(9000)), output: null, calls })
  t.equal(texts[1]!.text.length, SEARCHED.each)
  t.equal(
    texts.slice(1).reduce((sum, { text }) => sum + text.length, 0),
    SEARCHED.all
  )
  t.equal(texts.filter(({ text }) => text === 'same').length, 1, 'what is repeated counts once')
  t.end()
})

t.test('a segment gives the traces of each term, also after some are gone', async t => {
  const someTerm = fc.oneof(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), fc.constantFrom(0, 1, -1, termOf('a')))
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uniqueArray(someTerm, { maxLength: 12 }), { maxLength: 40 }),
      fc.infiniteStream(fc.boolean()),
      async (traces, choices) => {
        const buckets = await makeBuckets(
          traces.map(terms => Int32Array.from(terms)),
          rest
        )
        assert.equal(buckets.length, BUCKETS)
        const isKept = traces.map(() => choices.next().value as boolean)
        const kept = await keepMembers(
          buckets.map((bytes, bucket) => ({ bucket, bytes })),
          isKept,
          rest
        )
        const left = traces.filter((_, i) => isKept[i])
        for (const term of [...new Set(traces.flat()), 12345]) {
          const having = (some: readonly number[][]) => some.flatMap((terms, i) => (terms.includes(term) ? [i] : []))
          assert.deepEqual(findTraces(buckets[bucketOf(term)]!, term), having(traces))
          assert.deepEqual(findTraces(kept[bucketOf(term)]!, term), having(left))
        }
      }
    ),
    runs(30)
  )
  const members = [
    { seq: 2 ** 52, startedMs: -62_135_596_800_000 },
    { seq: 1, startedMs: 253_402_300_799_999 }
  ]
  t.same(readMembers(packMembers(members)), members)
})
