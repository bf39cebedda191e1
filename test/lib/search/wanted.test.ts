import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { searchedTexts } from '../../../lib/search/texts.ts'
import { excerptsIn, findIn, readWanted } from '../../../lib/search/wanted.ts'
import { runsOf, termsOf } from '../../../lib/search/words.ts'
import { runs } from '../../torture/orders.ts'

/** Any string that JavaScript can represent, with unpaired surrogates, combining marks and all scripts. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.array(fc.nat(0xffff)).map(units => String.fromCharCode(...units)),
  fc.string({
    unit: fc.constantFrom('a', 'B', 'ß', 'é', 'e\u0301', '東', 'タ', '서', 'ภ', 'ั', '𠮷', '1', ' ', '-', '"')
  })
)

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

t.test('the words of phrases are found side by side, other words anywhere', t => {
  const texts = searchedTexts({
    name: 'agent',
    input: JSON.stringify({ messages: [{ role: 'user', content: 'Where is my\n  "blue" order 17?' }] }),
    output: '"東京タワーへ行く"',
    metadata: null,
    calls: [],
    tools: [],
    errors: []
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
  t.equal(marked('user'), undefined, 'a role is not text')
  t.equal(marked('content'), undefined, 'and neither is a key')
  t.end()
})

t.test('further excerpts come from other spans, contain some of the words, and are no instructions', t => {
  const anyTexts = fc.array(
    fc.record({
      place: fc.constantFrom('input' as const, 'output' as const, 'error' as const),
      spanId: fc.constantFrom(undefined, 'a', 'b', 'c', 'd'),
      text: fc
        .array(fc.constantFrom('refund', 'Réfund', 'order', 'of', '東京', '-', '注文'), { maxLength: 4 })
        .map(words => words.join(' '))
    }),
    { maxLength: 8 }
  )
  const anyQuery = fc.constantFrom('refund', 'refund order', '"order of"', '京', 'of 東')
  fc.assert(
    fc.property(anyTexts, anyQuery, (others, query) => {
      const texts = [{ place: 'name' as const, text: 'agent' }, ...others]
      const wanted = readWanted(query)!
      const [first, ...more] = excerptsIn(texts, wanted)
      assert.deepEqual(first, findIn(texts, wanted))
      if (first === undefined) return
      const has = ({ text }: { text: string }) =>
        wanted.phrases.some(phrase => findIn([{ place: 'name', text }], { phrases: [phrase], terms: [] }) !== undefined)
      const spans = new Set(others.filter(has).map(({ spanId = null }) => spanId))
      assert.equal(more.length, Math.min(2, spans.size - 1))
      assert.equal(new Set([first, ...more].map(({ spanId }) => spanId)).size, 1 + more.length)
      for (const excerpt of more) assert.ok(has(excerpt) && excerpt.marks.length > 0)
    }),
    runs(300)
  )
  const said = (role: string, text: string) => ({
    place: 'input' as const,
    spanId: role,
    text,
    json: JSON.stringify([{ role, content: text }])
  })
  const texts = [
    { place: 'name' as const, text: 'refund' },
    ...['system', 'user', 'developer', 'tool'].map(role => said(role, `${role}: refund`))
  ]
  const spans = (query: string, given = texts) => excerptsIn(given, readWanted(query)!).map(({ spanId }) => spanId)
  t.same(spans('refund'), ['user', 'tool'])
  t.same(spans('refund missing'), [])
  t.same(spans('refund', texts.slice(0, 1)), [null])
  const long = said('assistant', 'x '.repeat(5000))
  t.same(spans('refund', [...texts.slice(0, 3), long, ...texts.slice(3)]), ['user'], 'the texts read are bounded')
  t.end()
})
