/** Tests that filters are restored from their text, and that unreadable parts are named. */
import fc from 'fast-check'
import t from 'tap'
import { FIELD_VALUES } from '../../../../../lib/schema/field-values.ts'
import {
  describeTerm,
  FIELDS,
  parseFilters,
  renderTerm,
  renderTerms
} from '../../../../../plugins/dashboard/app/state/filter-text.ts'
import type { Filter, Term } from '../../../../../plugins/dashboard/app/state/list-query.ts'

const anyText = fc.string({ minLength: 1, maxLength: 20, unit: 'binary' })
const score = fc
  .tuple(fc.stringMatching(/^[\w-]{1,10}$/), fc.constantFrom('<', '<=', '>', '>=', '='), anyText)
  .map(parts => parts.join(''))
const amounts = {
  duration: fc.nat(1e9).map(String),
  cost: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).map(String),
  count: fc.nat(1e9).map(String)
}
const fieldTerm: fc.Arbitrary<Term> = fc.constantFrom(...FIELDS).chain(({ kind, filters, choices, none }) => {
  const values =
    kind === 'text'
      ? anyText
      : kind === 'condition'
        ? score
        : kind === 'choice'
          ? fc.constantFrom(...Object.values(choices!))
          : amounts[kind]
  const of = fc.record({ filter: fc.constantFrom<Filter>(...filters), value: values })
  return none === undefined ? of : fc.oneof(of, fc.constant({ filter: none, value: 'true' }))
})
const word = fc.oneof(fc.stringMatching(/^[^\s":]{1,8}$/), fc.stringMatching(/^"[^"\\:]{1,12}"$/))
const words: fc.Arbitrary<Term> = fc
  .array(word, { minLength: 1, maxLength: 4 })
  .map(all => ({ filter: 'q', value: all.join(' ') }))

t.test('filters are restored from their text', async t => {
  const terms = fc.tuple(fc.array(fieldTerm, { maxLength: 5 }), fc.option(words, { nil: undefined }))
  fc.assert(
    fc.property(terms, ([fields, free]) => {
      const all = free === undefined ? fields : [...fields, free]
      t.same(parseFilters(renderTerms(all)), { terms: all, faults: [] }, renderTerms(all))
    })
  )
})

t.test('any words are preserved as words', async t => {
  fc.assert(
    fc.property(anyText, value => {
      const { terms, faults } = parseFilters(renderTerm({ filter: 'q', value }))
      t.same(faults, [])
      t.same(parseFilters(renderTerms(terms)), { terms, faults: [] })
      t.ok(terms.every(({ filter }) => filter === 'q'))
    })
  )
})

t.test('a query is read as people write it', async t => {
  const typed =
    'status:error step:search_orders cost:>0.1 duration:>2s duration:<1.5min tag:prompt:v12 score:helpfulness<0.5 ' +
    'refund Tokens:>=10k environment:prod failed:yes annotated:NO cost:<=$2 "free words" https://example.com ' +
    'user:"Ada L" cost:none it:'
  t.same(parseFilters(typed), {
    faults: [],
    terms: [
      { filter: 'status', value: 'error' },
      { filter: 'step', value: 'search_orders' },
      { filter: 'minCost', value: '0.1' },
      { filter: 'minDuration', value: '2000' },
      { filter: 'maxDuration', value: '90000' },
      { filter: 'tag', value: 'prompt:v12' },
      { filter: 'score', value: 'helpfulness<0.5' },
      { filter: 'minTokens', value: '10000' },
      { filter: 'env', value: 'prod' },
      { filter: 'failed', value: 'true' },
      { filter: 'annotated', value: 'false' },
      { filter: 'maxCost', value: '2' },
      { filter: 'user', value: 'Ada L' },
      { filter: 'noCost', value: 'true' },
      { filter: 'q', value: 'refund "free words" https://example.com it:' }
    ]
  })
})

t.test('parts that cannot be understood are named, and the rest is kept', async t => {
  const messageOf = (typed: string) => parseFilters(typed).faults.map(({ message }) => message)[0]
  t.same(parseFilters('model:m statsu:error'), {
    terms: [{ filter: 'model', value: 'm' }],
    faults: [
      {
        part: 'statsu:error',
        message: 'There is no field “statsu”. Put the text in quotes to search for it.',
        better: 'status:error'
      }
    ]
  })
  const betterOf = (typed: string) => parseFilters(typed).faults[0]?.better
  t.same(
    ['stat:ok', 'status:eror', 'status:err', 'duration:2s', 'cost:0.1', 'tokens:>x', 'colour:red', 'name:""'].map(
      betterOf
    ),
    ['status:ok', undefined, 'status:error', 'duration:>2s', 'cost:>0.1', undefined, undefined, undefined]
  )
  for (const typed of ['stat:ok', 'duration:"2 min"', 'status:err', 'kind:lm', 'tenv:"a b"'].map(betterOf))
    if (typed !== undefined) t.same(parseFilters(typed).faults, [], typed)
  t.equal(messageOf('colour:red'), 'There is no field “colour”. Put the text in quotes to search for it.')
  t.equal(messageOf('status:bad'), 'Use error, ok, running or unset.')
  t.equal(messageOf('failed:no'), 'Use yes.')
  t.equal(messageOf('name:'), 'Add a value, such as name:support-agent.')
  t.equal(messageOf('name:""'), 'Add a value, such as name:support-agent.')
  t.equal(messageOf('duration:2s'), 'Write duration:>2s or duration:<2s.')
  t.equal(messageOf('duration:none'), 'Write duration:>2s or duration:<2s.')
  t.equal(messageOf('duration:>2 days'), undefined)
  t.equal(messageOf('duration:>2d'), 'Write duration:>2s or duration:<2s.')
  t.equal(messageOf('cost:>-1'), 'Write cost:>0.1 or cost:<0.1.')
  t.equal(messageOf('score:good'), 'Enter a score, a comparison and a value, such as score:helpfulness<0.5.')
  fc.assert(fc.property(fc.string(), typed => t.ok(parseFilters(typed).terms)))
})

t.test('a chip shows a value with its unit', async t => {
  const shown = parseFilters('duration:>2s cost:<0.5 tokens:>10k failed:yes tag:a cost:none "two words"').terms.map(
    describeTerm
  )
  t.same(
    shown.map(({ title, value }) => `${title}: ${value}`),
    [
      'Duration: ≥ 2 s',
      'Cost: ≤ $0.5',
      'Tokens: ≥ 10000',
      'Any failure: yes',
      'Tag: a',
      'Cost: none',
      'Words: "two words"'
    ]
  )
})

t.test('a choice offers every value that the API accepts', t => {
  const offered = (name: string) => Object.keys(FIELDS.find(field => field.name === name)!.choices!).sort()
  t.same(offered('kind'), [...FIELD_VALUES.spanKind].sort())
  t.same(offered('status'), [...FIELD_VALUES.status, 'running'].sort())
  t.same(offered('stepstatus'), [...FIELD_VALUES.status].sort())
  t.end()
})
