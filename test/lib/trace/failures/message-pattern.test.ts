import fc from 'fast-check'
import t from 'tap'
import { type Failure, FailureGroups } from '../../../../lib/trace/failures/failure-groups.ts'
import { patternOf } from '../../../../lib/trace/failures/message-pattern.ts'
import { ALIKE, FAULTS, SAME } from '../../../fixtures/bodies/failure-messages.ts'
import { randomNumbers, runs } from '../../../torture/orders.ts'

const valuesOf = (seed: number) => {
  const random = randomNumbers(seed)
  return { next: (below: number) => Math.floor(random() * below) }
}
const failure = (message: string, traceId = 'a'): Failure => ({
  ...{ kind: 'tool', name: 'step', type: 'Error', message, traceId, spanId: 'b', at: '2026-11-21T12:00:00.000Z' },
  model: null,
  isPassedOn: false
})

t.test('ten thousand messages of thirty faults form thirty groups', async t => {
  const faults = Object.entries(FAULTS)
  t.equal(faults.length, 30)
  const values = valuesOf(1)
  const groups = new FailureGroups()
  for (let i = 0; i < 10_000; i++) groups.add(failure(faults[i % 30]![1](values)))
  t.equal(groups.list().length, 30)
  t.equal(
    groups.list().reduce((sum, { count }) => sum + count, 0),
    10_000
  )
})

t.test('a fault has one pattern, whatever its values, and different faults have different patterns', async t => {
  const patterns = new Map(Object.entries(FAULTS).map(([name, fault]) => [name, patternOf(fault(valuesOf(0)))]))
  t.equal(new Set(patterns.values()).size, patterns.size)
  const one = fc.record({ name: fc.constantFrom(...Object.keys(FAULTS)), seed: fc.nat() })
  fc.assert(
    fc.property(one, ({ name, seed }) => patternOf(FAULTS[name]!(valuesOf(seed))) === patterns.get(name)),
    runs(300)
  )
})

t.test('similar faults stay separate', async t => {
  for (const messages of ALIKE) {
    const patterns = messages.map(patternOf)
    t.equal(new Set(patterns).size, messages.length, patterns.join(' | '))
  }
})

t.test('messages of one fault have one pattern', async t => {
  for (const [one, other] of SAME) t.equal(patternOf(one), patternOf(other))
})

t.test('a pattern is readable', async t => {
  const read: Record<string, string> = {
    'connect ECONNREFUSED 10.0.0.1:5432': 'connect ECONNREFUSED <address>',
    "ENOENT: no such file or directory, open '/tmp/a/b.json'": 'ENOENT: no such file or directory, open <name>',
    'Order 48213 of user_7 expired at 2026-11-21T12:00:00Z': 'Order <number> of <id> expired at <time>',
    'GET https://api.example.com/v1/x?y=1 failed with status 503': 'GET <url> failed with status 503',
    'Too many: 3 files in /srv/data': 'Too many: <number> file in <path>',
    "Cannot read properties of undefined (reading 'map')\n    at f (/a.js:1:2)":
      "Cannot read properties of undefined (reading 'map')",
    '': '',
    ' … ': ''
  }
  for (const [message, pattern] of Object.entries(read)) t.equal(patternOf(message), pattern)
})

t.test('any text has a pattern, which is short', async () => {
  const piece = fc.constantFrom(
    "'",
    '"',
    '`',
    '\\',
    '{',
    '}',
    ':',
    '/',
    '.',
    '=',
    '0',
    'a',
    'F',
    ' ',
    '\n',
    '-',
    '@',
    '('
  )
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.array(piece, { maxLength: 2000 }).map(all => all.join(''))
  )
  fc.assert(
    fc.property(text, message => patternOf(message).length <= 301),
    runs(300)
  )
})
