import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { readSize } from '../../../bin/terminal/sizes.ts'
import { parseEnd, parseMoment, readDuration, readMoments } from '../../../bin/terminal/times.ts'
import { runs } from '../../torture/orders.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')

t.test('times are read as people write them, and are in UTC if they have no zone', async t => {
  const written: [text: string, first: string, last?: string][] = [
    ['now', '2026-03-01T12:00:00.000Z'],
    ['0d', '2026-03-01T12:00:00.000Z'],
    ['90d', '2025-12-01T12:00:00.000Z'],
    ['2w', '2026-02-15T12:00:00.000Z'],
    ['1h', '2026-03-01T11:00:00.000Z'],
    ['1.5h', '2026-03-01T10:30:00.000Z'],
    ['1h30m', '2026-03-01T10:30:00.000Z'],
    ['90min', '2026-03-01T10:30:00.000Z'],
    ['30S', '2026-03-01T11:59:30.000Z'],
    ['today', '2026-03-01T00:00:00.000Z', '2026-03-01T23:59:59.999999Z'],
    ['Yesterday', '2026-02-28T00:00:00.000Z', '2026-02-28T23:59:59.999999Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z', '2024-02-29T23:59:59.999999Z'],
    ['2026-01-31T12:30', '2026-01-31T12:30:00.000Z'],
    ['2026-01-31 12:30Z', '2026-01-31T12:30:00.000Z'],
    ['2026-01-31T12:30+02:00', '2026-01-31T10:30:00.000Z'],
    ['2026-01-31T12:30:15', '2026-01-31T12:30:15.000Z'],
    ['2026-01-31T12:30:15.123456-0100', '2026-01-31T13:30:15.123456Z']
  ]
  for (const [text, first, last = first] of written) t.same(readMoments(text, NOW), { first, last }, text)
  const wrong = [
    '',
    'soon',
    '90',
    'd',
    '-1d',
    '1y',
    '1 h',
    '2026-02-30',
    '2025-02-29',
    '2026-13-01',
    '2026-01',
    '12:00'
  ]
  for (const text of [...wrong, '2026-01-31T24:00', '2026-01-31T12:30x', '99999999d', '1d2', '0000-01-01']) {
    t.equal(readMoments(text, NOW), undefined, JSON.stringify(text))
    t.throws(() => parseMoment('since', text, NOW), { message: /^--since must be an ISO 8601 date or time/ }, text)
  }
  t.equal(parseMoment('before', '2026-01-31', NOW), '2026-01-31T00:00:00.000Z')
  t.equal(parseEnd('to', '2026-01-31', NOW), '2026-01-31T23:59:59.999999Z', 'the end of a day is its last moment')
  t.equal(parseEnd('to', undefined, NOW), undefined)
})

t.test('a duration is the sum of its parts, in any order', async () => {
  const UNITS = { s: 1, m: 60, min: 60, h: 3600, d: 86_400, w: 604_800 }
  const part = fc.tuple(fc.nat(999), fc.constantFrom(...(Object.keys(UNITS) as (keyof typeof UNITS)[])))
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), parts => {
      const text = parts.map(([amount, unit]) => `${amount}${unit}`).join('')
      assert.equal(
        readDuration(text),
        parts.reduce((sum, [amount, unit]) => sum + amount * UNITS[unit] * 1000, 0)
      )
    }),
    runs(200)
  )
})

t.test('sizes are read as people write them', async t => {
  const written: [string, number][] = [
    ['1', 1],
    ['5000', 5000],
    ['5000B', 5000],
    ['5GB', 5e9],
    ['5 gb', 5e9],
    ['5G', 5e9],
    ['1.5 TB', 1.5e12],
    ['0.5kB', 500],
    ['10GiB', 10 * 1024 ** 3],
    ['512 MiB', 512 * 1024 ** 2],
    ['1Pi', 1024 ** 5]
  ]
  for (const [text, bytes] of written) t.equal(readSize(text), bytes, text)
  for (const text of ['', '0', '0GB', '-1', '1.5', 'GB', '5XB', '5iB', '5 GB more', '1e9', '99999999PB', '5,000']) {
    t.equal(readSize(text), undefined, JSON.stringify(text))
  }
})
