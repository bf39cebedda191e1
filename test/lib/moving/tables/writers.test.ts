import assert from 'node:assert/strict'
import fc from 'fast-check'
import { parquetReadObjects } from 'hyparquet'
import t from 'tap'
import { type Cell, csvCell } from '../../../../lib/csv.ts'
import type { TableColumn } from '../../../../lib/moving/tables/columns.ts'
import { parquetWriter, toMicros } from '../../../../lib/moving/tables/parquet.ts'
import { csvWriter, ndjsonWriter, type TableWriter } from '../../../../lib/moving/tables/writers.ts'
import { anyJson, writeJson } from '../../../fixtures/bodies/odd-json.ts'
import { runs } from '../../../torture/orders.ts'

const COLUMNS: readonly TableColumn[] = [
  { name: 'name', type: 'text' },
  { name: 'count', type: 'integer' },
  { name: 'cost', type: 'number' },
  { name: 'at', type: 'time' },
  { name: 'input', type: 'json' }
]
/** A row, before its strings become bytes. */
type Row = readonly [string | null, number | null, number | null, string | null, string | null]
const orNull = <T>(value: fc.Arbitrary<T>) => fc.oneof({ weight: 4, arbitrary: value }, fc.constant(null))
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '"', 'a,b', 'a\r\nb', "'", ' =1', '')
)
const time = fc
  .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true })
  .chain(date => fc.constantFrom('Z', '001Z', '999Z').map(rest => date.toISOString().replace('Z', rest)))
const row: fc.Arbitrary<Row> = fc.tuple(
  orNull(text.filter(each => each.isWellFormed())),
  orNull(fc.maxSafeNat()),
  orNull(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true })),
  orNull(time),
  orNull(anyJson.map(writeJson))
)
const rows = fc.array(row, { maxLength: 20 })

const bytewise = (cell: Cell): Cell => (typeof cell === 'string' ? Buffer.from(cell).toString('latin1') : cell)

/** Writes rows in pieces of a few. */
function write(writer: TableWriter, all: readonly Row[], piece = 3): Buffer {
  const pieces = [writer.head()]
  for (let i = 0; i < all.length; i += piece) {
    pieces.push(writer.add(all.slice(i, i + piece).map(each => each.map(bytewise))))
  }
  return Buffer.concat([...pieces, writer.end()])
}

/** Reads CSV as RFC 4180 describes it. */
function readCsv(text: string): string[][] {
  const records: string[][] = []
  let at = 0
  while (at < text.length) {
    const record: string[] = []
    for (let isOver = false; !isOver; ) {
      const quoted = text[at] === '"'
      const found = (quoted ? /"((?:[^"]|"")*)"(,|\r\n)/y : /([^",\r\n]*)(,|\r\n)/y) as RegExp
      found.lastIndex = at
      const match = found.exec(text)
      assert.ok(match, `at ${at}`)
      record.push(quoted ? match[1]!.replaceAll('""', '"') : match[1]!)
      at = found.lastIndex
      isOver = match[2] === '\r\n'
    }
    records.push(record)
  }
  return records
}

t.test('CSV has every value, and no text in it is a formula', async () => {
  fc.assert(
    fc.property(rows, all => {
      const [head, ...records] = readCsv(write(csvWriter(COLUMNS), all).toString())
      assert.deepEqual(
        head,
        COLUMNS.map(({ name }) => name)
      )
      assert.equal(records.length, all.length)
      for (const [i, [name, ...others]] of records.entries()) {
        const [wanted, ...rest] = all[i]!
        assert.ok(name === (wanted ?? '') || name === `'${wanted}`)
        assert.doesNotMatch(name, /^[=+\-@\t\r\n]/)
        assert.deepEqual(
          others,
          rest.map(each => (each === null ? '' : String(each)))
        )
      }
    }),
    runs(200)
  )
})

t.test('a JSON cell is never a formula, and needs no apostrophe', async t => {
  for (const [json, cell] of [
    ['-5', '-5'],
    ['"=1+1"', '"""=1+1"""'],
    ['{"a":1}', '"{""a"":1}"']
  ] as const) {
    t.equal(csvCell(json, 'json'), cell)
  }
})

t.test('NDJSON has every value exactly', async () => {
  fc.assert(
    fc.property(rows, all => {
      const lines = write(ndjsonWriter(COLUMNS), all).toString().split('\n').slice(0, -1)
      assert.equal(lines.length, all.length)
      for (const [i, line] of lines.entries()) {
        const [name, count, cost, at, input] = all[i]!
        const parsed = JSON.parse(line)
        assert.deepEqual(
          { ...parsed, input: null },
          { name, count, cost: cost === null ? null : cost + 0, at, input: null }
        )
        assert.ok(line.endsWith(`"input":${input}}`))
      }
    }),
    runs(200)
  )
})

/** The library's Dates have no microseconds. */
const MICROS = { timestampFromMicroseconds: (micros: bigint) => micros } as never

t.test('Parquet has every value exactly, in row groups of any size', async () => {
  await fc.assert(
    fc.asyncProperty(rows, fc.integer({ min: 1, max: 7 }), async (all, most) => {
      const file = write(parquetWriter(COLUMNS, { rows: most, bytes: 1000 }), all)
      const buffer = new Uint8Array(file).buffer
      const found = await parquetReadObjects({ file: buffer, parsers: MICROS })
      assert.equal(found.length, all.length)
      for (const [i, each] of found.entries()) {
        const [name, count, cost, at, input] = all[i]!
        assert.deepEqual(each, {
          name,
          count: count === null ? null : BigInt(count),
          cost,
          at: at === null ? null : toMicros(at),
          input
        })
      }
    }),
    runs(50)
  )
})

t.test('a time keeps its microseconds', async t => {
  t.equal(toMicros('1970-01-01T00:00:00.000Z'), 0n)
  t.equal(toMicros('1970-01-01T00:00:01.000001Z'), 1_000_001n)
  t.equal(toMicros('1969-12-31T23:59:59.999999Z'), -1n)
  t.equal(toMicros('0001-01-01T00:00:00.000Z'), -62_135_596_800_000_000n)
})
