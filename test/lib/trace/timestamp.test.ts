import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { LAST_MICROS } from '../../../lib/otlp/wire/time.ts'
import { durationMs, epochMs, isBefore, microsOf, parseTimestamp, timestampOf } from '../../../lib/trace/timestamp.ts'

t.test('converts every accepted form to the canonical one', async t => {
  const forms: [string, string][] = [
    ['2026-11-21T12:00:00.123Z', '2026-11-21T12:00:00.123Z'],
    ['2026-11-21T12:00:00Z', '2026-11-21T12:00:00.000Z'],
    ['2026-11-21 12:00:00', '2026-11-21T12:00:00.000Z'],
    ['2026-11-21t12:00:00.5z', '2026-11-21T12:00:00.500Z'],
    ['2026-11-21T12:00:00.123456', '2026-11-21T12:00:00.123456Z'],
    ['2026-11-21T12:00:00.123000Z', '2026-11-21T12:00:00.123Z'],
    ['2026-11-21T12:00:00.123456789Z', '2026-11-21T12:00:00.123456Z'],
    ['2026-11-21T12:00:00.000999999Z', '2026-11-21T12:00:00.000999Z'],
    ['2026-11-21T12:00:00+01:30', '2026-11-21T10:30:00.000Z'],
    ['2026-11-21T12:00:00-0130', '2026-11-21T13:30:00.000Z'],
    ['2026-11-21T12:00:00.1+01', '2026-11-21T11:00:00.100Z'],
    ['2026-11-21T12:00:00-00:00', '2026-11-21T12:00:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0001-01-01T01:00:00+01:00', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
    ['0000-12-31T23:30:00-00:30', '0001-01-01T00:00:00.000Z']
  ]
  for (const [sent, kept] of forms) t.equal(parseTimestamp(sent), kept, sent)
})

t.test('rejects everything else', async t => {
  const refused = [
    ...['', 'now', '2026-11-21', '2026-11-21T12:00Z', '2026-11-21T12Z', '20261121T120000Z', '2026-W47-6T12:00:00Z'],
    ...['2026-325T12:00:00Z', '2026-11-21T12:00:00,5Z', '2026-11-21T12:00:00.Z', '2026-11-21T24:00:00Z'],
    ...['2026-11-21T23:59:60Z', '2026-11-21T12:60:00Z', '2026-13-01T00:00:00Z', '2026-00-01T00:00:00Z'],
    ...['2026-02-29T00:00:00Z', '2026-04-31T00:00:00Z', '2026-11-00T00:00:00Z', '0000-01-01T00:00:00Z'],
    ...['0001-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01', '10000-01-01T00:00:00Z', '+02026-11-21T12:00:00Z'],
    ...[
      '2026-11-21T12:00:00.1234567890Z',
      '2026-11-21T12:00:00 Z',
      '2026-11-21T12:00:00ZZ',
      '2026-11-21T12:00:00+24:00'
    ],
    ...['2026-11-21T12:00:00+1', '2026-11-21T12:00:00+01:60', '2026-11-21T12:00:00+01:', '2026-11-21T12:00:00+010'],
    ...[
      '2026/11/21T12:00:00Z',
      '2026-11-21_12:00:00Z',
      ' 2026-11-21T12:00:00Z',
      '2026-11-21T12:00:00Z ',
      '２026-11-21T12:00:00Z'
    ]
  ]
  for (const text of refused) t.equal(parseTimestamp(text), undefined, JSON.stringify(text))
})

const micros = fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n })

/** Formats a time canonically, without using parseTimestamp. */
function canonical(moment: bigint): string {
  const ms = moment >= 0n ? moment / 1000n : -((-moment + 999n) / 1000n)
  const rest = moment - ms * 1000n
  const iso = new Date(Number(ms)).toISOString()
  return rest === 0n ? iso : iso.replace('Z', `${String(rest).padStart(3, '0')}Z`)
}

t.test('preserves every canonical timestamp, and orders and subtracts to the microsecond', async () => {
  fc.assert(
    fc.property(micros, micros, (a, b) => {
      const [first, second] = [canonical(a), canonical(b)]
      assert.equal(parseTimestamp(first), first)
      assert.equal(isBefore(first, second), a < b)
      const floor = (x: bigint, y: bigint) => (x - (((x % y) + y) % y)) / y
      assert.equal(durationMs(first, second), Number(floor(b - a + 500n, 1000n)))
    }),
    { numRuns: 300 }
  )
})

t.test('a timestamp made from microseconds is canonical, and has the same value', async () => {
  const micros = fc.oneof(
    fc.nat(),
    fc.integer({ min: 0, max: LAST_MICROS }),
    fc.nat({ max: 2e9 }).map(ms => ms * 1000)
  )
  fc.assert(
    fc.property(micros, micros => {
      const text = timestampOf(micros)
      assert.equal(parseTimestamp(text), text)
      assert.equal(epochMs(text) * 1000 + microsOf(text), micros)
    })
  )
})
