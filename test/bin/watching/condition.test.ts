import fc from 'fast-check'
import t from 'tap'
import { type Condition, formatValue, isMet, parseCondition } from '../../../bin/watching/condition.ts'

const MINUTE_MS = 60_000

t.test('conditions are read as people write them', async t => {
  const read: [string, Omit<Condition, 'text'>][] = [
    [
      'errors > 5% over 15m',
      { measure: { of: 'errors', isRate: true }, operator: '>', limit: 5, windowMs: 15 * MINUTE_MS }
    ],
    [
      'Errors>=3 over 1h',
      { measure: { of: 'errors', isRate: false }, operator: '>=', limit: 3, windowMs: 60 * MINUTE_MS }
    ],
    ['cost > $0.50 over 1d', { measure: { of: 'cost' }, operator: '>', limit: 0.5, windowMs: 1440 * MINUTE_MS }],
    ['p95 > 500ms over 1h30m', { measure: { of: 'p95' }, operator: '>', limit: 500, windowMs: 90 * MINUTE_MS }],
    ['tokens > 1000000 over 1h', { measure: { of: 'tokens' }, operator: '>', limit: 1e6, windowMs: 60 * MINUTE_MS }],
    ['traces < 1 over 1h', { measure: { of: 'traces' }, operator: '<', limit: 1, windowMs: 60 * MINUTE_MS }],
    [
      'score quality < -0.5 over 7d',
      { measure: { of: 'score', name: 'quality' }, operator: '<', limit: -0.5, windowMs: 7 * 1440 * MINUTE_MS }
    ],
    ['silence > 10m', { measure: { of: 'silence' }, operator: '>', limit: 600_000, windowMs: 600_000 }]
  ]
  for (const [text, condition] of read) t.match(parseCondition(text), condition, text)
  t.equal(parseCondition('  errors   > 5%  over 15m ').text, 'errors > 5% over 15m', 'spaces make no difference')
})

t.test('an unreadable condition is rejected with the rule', async t => {
  const wrong: [string, RegExp][] = [
    ['', /must be such as `errors > 5% over 15m`/],
    ['failures > 5% over 15m', /must be such as/],
    ['errors = 5 over 15m', /must be such as/],
    ['errors > many over 15m', /the limit must be a number, or a percentage such as 5%, not many/],
    ['errors > -1 over 15m', /the limit must be a number/],
    ['cost > 5% over 1h', /the limit must be an amount in US dollars/],
    ['p95 > 30 over 1h', /the limit must be a duration such as 500ms, 30s or 10m, not 30/],
    ['errors > 5%', /must end with a period, such as `over 15m`/],
    ['errors > 5% over soon', /must end with a period/],
    ['errors > 5% over 1s', /the period must be from 1m to 90d/],
    ['errors > 5% over 91d', /the period must be from 1m to 90d/],
    ['silence > 10m over 1h', /`silence` does not accept a period/],
    ['silence < 10m', /`silence` can only be compared/],
    ['silence > 10s', /at least 1m/],
    ['score < 1 over 1h', /must be such as/]
  ]
  for (const [text, message] of wrong) t.throws(() => parseCondition(text), { name: 'UsageError', message }, text)
})

t.test('any input is read as a condition or rejected as incorrect usage', async () => {
  const words = fc.constantFrom(
    'errors',
    'p95',
    'score x',
    'silence',
    '>',
    '<=',
    '5%',
    '10m',
    '500ms',
    'over',
    '1h',
    '$2'
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(words, { maxLength: 6 }).map(all => all.join(' '))
      ),
      text => {
        try {
          const { limit, windowMs } = parseCondition(text)
          return Number.isFinite(limit) && windowMs >= MINUTE_MS
        } catch (error) {
          return (error as Error).name === 'UsageError'
        }
      }
    )
  )
})

t.test('values are compared with the limit, and too few samples give no rate', async t => {
  const met = (text: string, value: number | null, samples = 100) => isMet(parseCondition(text), { value, samples }, 10)
  t.same(
    ['>', '>=', '<', '<='].map(operator => [4, 5, 6].map(value => met(`errors ${operator} 5 over 1h`, value))),
    [
      [false, false, true],
      [false, true, true],
      [true, false, false],
      [true, true, false]
    ]
  )
  t.equal(met('errors > 5% over 1h', 100, 9), false)
  t.equal(met('errors > 5% over 1h', 100, 10), true)
  t.equal(met('errors > 5 over 1h', 6, 1), true, 'a number needs no samples')
  t.equal(met('traces < 1 over 1h', 0, 0), true)
  t.equal(met('p95 > 1s over 1h', null, 0), false)
  t.same(
    [
      formatValue({ of: 'errors', isRate: true }, 12.345),
      formatValue({ of: 'p95' }, 3210),
      formatValue({ of: 'silence' }, 659_000),
      formatValue({ of: 'score', name: 'x' }, 0.12345),
      formatValue({ of: 'tokens' }, 1_234_567),
      formatValue({ of: 'cost' }, null)
    ],
    ['12.3 %', '3.21 s', '10 min', '0.123', '1,234,567', 'none']
  )
})
