/** Reads fields in the binary format of COPY according to PostgreSQL's documentation. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { PowerOfTen, Value } from '../../../lib/rows/columns.ts'
import { CopyWriter, fieldWriter, readField } from '../../../lib/rows/copy-format.ts'

const POSTGRES_EPOCH_MS = Date.parse('2000-01-01T00:00:00Z')

/** Reads a string that is preceded by its length. */
function readText(bytes: Buffer, at: number): [text: string, end: number] {
  const end = at + 4 + bytes.readInt32BE(at)
  return [bytes.toString('utf8', at + 4, end), end]
}

function readArray(bytes: Buffer): string[] {
  const [dimensions, nulls, type, count, first] = [0, 4, 8, 12, 16].map(at => bytes.readInt32BE(at))
  assert.deepEqual([dimensions, nulls, type, first], [1, 0, 25, 1])
  const texts: string[] = []
  let at = 20
  while (at < bytes.length) {
    const [text, end] = readText(bytes, at)
    texts.push(text)
    at = end
  }
  assert.equal(texts.length, count)
  return texts
}

/** For each type: values, the expected result for a value, and the function that reads a field. */
interface Kind<T extends Value> {
  readonly values: fc.Arbitrary<T>
  expect(value: T): unknown
  read(bytes: Buffer): unknown
}
const kind = <T extends Value>(kind: Kind<T>) => kind as unknown as Kind<Value>

const same = (value: Value) => value
const integer = (bits: number) => fc.integer({ min: -(2 ** (bits - 1)), max: 2 ** (bits - 1) - 1 })
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.string({ minLength: 65, maxLength: 200 })
)
const hex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(each => Buffer.from(each).toString('hex'))
const time = fc
  .tuple(
    fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }),
    fc.nat(999)
  )
  .map(([date, micros]) => {
    const iso = date.toISOString()
    return micros === 0 ? iso : `${iso.slice(0, 23)}${String(micros).padStart(3, '0')}Z`
  })

/** Reads digits in base 10,000. `weight` is the exponent of the first digit. */
function readNumeric(bytes: Buffer): bigint {
  const [count, weight, sign, scale] = [0, 2, 4, 6].map(at => bytes.readUInt16BE(at)) as [
    number,
    number,
    number,
    number
  ]
  assert.deepEqual([scale, bytes.length, sign === 0 || sign === 0x4000], [0, 8 + 2 * count, true])
  let value = 0n
  for (let i = 0; i < count; i++) {
    const digit = bytes.readUInt16BE(8 + 2 * i)
    assert.ok(digit < 10_000)
    value += BigInt(digit) * 10_000n ** BigInt(weight - i)
  }
  return sign === 0 ? value : -value
}
const whole = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -10_000, max: 10_000 }),
  fc.constantFrom(0, 9999, 1e8, -1e12)
)
const power = fc.record({ isNegative: fc.boolean(), exponent: fc.nat(110).map(bucket => bucket * 12) })

const KINDS: Record<string, Kind<Value>> = {
  numeric: kind<number | PowerOfTen>({
    values: fc.oneof(whole, power),
    expect: value =>
      typeof value === 'number' ? BigInt(value) : (value.isNegative ? -1n : 1n) * 10n ** BigInt(value.exponent),
    read: readNumeric
  }),
  smallint: kind({ values: integer(16), expect: same, read: bytes => bytes.readInt16BE() }),
  int: kind({ values: integer(32), expect: same, read: bytes => bytes.readInt32BE() }),
  bigint: kind({
    values: fc.oneof(fc.maxSafeInteger(), fc.record({ high: integer(32), low: integer(32) })),
    expect: value =>
      typeof value === 'number' ? BigInt(value) : (BigInt(value.high) << 32n) + BigInt(value.low >>> 0),
    read: bytes => bytes.readBigInt64BE()
  }),
  float8: kind({ values: fc.double({ noNaN: true }), expect: same, read: bytes => bytes.readDoubleBE() }),
  timestamptz: kind({
    values: time,
    expect: value =>
      BigInt(Date.parse(`${value.slice(0, 23)}Z`) - POSTGRES_EPOCH_MS) * 1000n + BigInt(value.slice(23, -1)),
    read: bytes => bytes.readBigInt64BE()
  }),
  uuid: kind({ values: hex(16), expect: same, read: bytes => bytes.toString('hex') }),
  bytea: kind({
    values: fc.oneof(hex(8), hex(0), fc.uint8Array()),
    expect: value => (typeof value === 'string' ? value : Buffer.from(value).toString('hex')),
    read: bytes => bytes.toString('hex')
  }),
  text: kind({ values: text, expect: same, read: bytes => bytes.toString() }),
  json: kind({ values: fc.json(), expect: same, read: bytes => bytes.toString() }),
  'text[]': kind({ values: fc.array(text, { minLength: 1, maxLength: 5 }), expect: same, read: readArray })
}
const types = Object.keys(KINDS)
const rowsOf = fc.array(fc.constantFrom(...types), { minLength: 1, maxLength: 8 }).chain(types =>
  fc.record({
    types: fc.constant(types),
    rows: fc.array(fc.tuple(...types.map(type => fc.option(KINDS[type]!.values))), { minLength: 1, maxLength: 4 })
  })
)

t.test('every value of every type, and null, is read as written, row by row', async () => {
  const writer = new CopyWriter()
  fc.assert(
    fc.property(rowsOf, ({ types, rows }) => {
      const columns = types.map((type, i) => ({ name: `c${i}`, type }))
      const values = Object.fromEntries(
        columns.map(({ name }, i) => [name, (row: readonly Value[]) => row[i] as Value])
      )
      const write = fieldWriter<readonly Value[], string>(columns, values)
      writer.reset()
      for (const row of rows) write(writer, row)
      const bytes = Buffer.from(writer.take())
      let at = 0
      for (const row of rows) {
        for (const [i, type] of types.entries()) {
          const { values: _, expect, read } = KINDS[type]!
          const { bytes: field, end } = readField(bytes, at)
          assert.deepEqual(field && read(field), row[i] === null ? undefined : expect(row[i] as Value), type)
          at = end
        }
      }
      assert.equal(at, bytes.length)
    }),
    { numRuns: 500 }
  )
})

t.test('the buffer grows with the written data, and bytes that were taken do not change', async t => {
  const writer = new CopyWriter()
  const texts = [1, 60_000, 70_000, 1_000_000].map(length => 'é'.repeat(length))
  for (const text of texts) writer.text(text)
  const taken = Buffer.from(writer.take())
  writer.reset()
  writer.text('other')
  let at = 0
  for (const text of texts) {
    const [read, end] = readText(taken, at)
    t.ok(read === text, `${text.length} characters`)
    at = end
  }
  t.equal(writer.length, 9)
})

t.test('numbers are inserted at their positions in written data', async t => {
  const writer = new CopyWriter()
  writer.append(Buffer.alloc(16, 0xff))
  writer.putInt16(-2, 0)
  writer.putInt32(-3, 2)
  writer.putInt64(-(2 ** 40) - 1, 6)
  const bytes = Buffer.from(writer.take())
  t.strictSame([bytes.readInt16BE(0), bytes.readInt32BE(2), bytes.readBigInt64BE(6)], [-2, -3, -(2n ** 40n) - 1n])
  t.strictSame([...bytes.subarray(14)], [0xff, 0xff])
})

t.test('a type without a binary form is rejected before anything is written', async t => {
  t.throws(() => fieldWriter([{ name: 'c', type: 'point' }], { c: () => 1 }), /no binary form for point/)
})
