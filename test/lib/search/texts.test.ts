import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { SEARCHED, searchedTexts, stringsOf } from '../../../lib/search/texts.ts'
import { runs } from '../../torture/orders.ts'

t.test('strings are taken from any JSON, up to the limit, without half characters', t => {
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
  const more = { metadata: null, tools: [], errors: [] }
  const texts = searchedTexts({ name: 'n', input: JSON.stringify('y'.repeat(9000)), output: null, calls, ...more })
  t.equal(texts[1]!.text.length, SEARCHED.each)
  t.equal(
    texts.slice(1).reduce((sum, { text }) => sum + text.length, 0),
    SEARCHED.all
  )
  t.equal(texts.filter(({ text }) => text === 'same').length, 1, 'repeated text counts once')
  t.end()
})

t.test('errors, tool calls and metadata have their own limits', t => {
  const long = (text: string) => JSON.stringify(`${text} ${'x'.repeat(9000)}`)
  const bodies = (what: string) =>
    Array.from({ length: 50 }, (_, i) => ({ input: long(`${what} ${i}`), output: '"same"' }))
  const texts = searchedTexts({
    name: 'n',
    input: long('input'),
    output: null,
    metadata: JSON.stringify({ hidden: { tenant: 'acme', tier: 3 }, more: 'y'.repeat(3000) }),
    calls: bodies('call'),
    tools: bodies('tool'),
    errors: ['', 'TimeoutError\nno response', ...Array.from({ length: 30 }, (_, i) => `${i} ${'z'.repeat(2000)}`)].map(
      text => ({ id: 'ab', text })
    )
  })
  const lengthOf = (isWanted: (each: (typeof texts)[number]) => boolean) =>
    texts.filter(isWanted).reduce((sum, { text }) => sum + text.length, 0)
  const isTool = ({ text }: { text: string }) => text.startsWith('tool')
  t.equal(
    lengthOf(each => ['input', 'output'].includes(each.place) && !isTool(each)),
    SEARCHED.all
  )
  t.equal(lengthOf(isTool), SEARCHED.tools)
  t.equal(
    lengthOf(({ place }) => place === 'error'),
    SEARCHED.errors
  )
  t.equal(texts.find(({ place }) => place === 'error')!.text, 'TimeoutError\nno response')
  t.equal(
    lengthOf(({ place }) => place === 'metadata'),
    SEARCHED.metadata
  )
  t.ok(
    texts.some(({ place, text }) => place === 'metadata' && text === 'acme'),
    'values, not keys'
  )
  t.notOk(texts.some(({ text }) => text.includes('hidden')))
  t.end()
})
