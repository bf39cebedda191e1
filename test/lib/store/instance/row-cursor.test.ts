import fc from 'fast-check'
import t from 'tap'
import { PageFault, RowCursor } from '../../../../lib/store/instance/row-cursor.ts'

const COLUMNS = [
  { name: 'count', type: 'bigint' },
  { name: 'cost', type: 'float8' },
  { name: 'name', type: 'text' },
  { name: 'tags', type: 'text[]' },
  { name: 'started_at', type: 'timestamptz' }
]
const EPOCH_2000_MS = Date.UTC(2000, 0, 1)

const int = (value: number, bytes: 2 | 4): Buffer => {
  const field = Buffer.alloc(bytes)
  field.writeIntBE(value, 0, bytes)
  return field
}
const long = (value: number | bigint): Buffer => {
  const field = Buffer.alloc(8)
  field.writeBigInt64BE(BigInt(value))
  return field
}
const double = (value: number): Buffer => {
  const field = Buffer.alloc(8)
  field.writeDoubleBE(value)
  return field
}
const field = (value: Uint8Array | null): Buffer =>
  value === null ? int(-1, 4) : Buffer.concat([int(value.length, 4), value])
const textArray = (values: readonly string[]): Buffer =>
  Buffer.concat([
    ...[1, 0, 25, values.length, 1].map(each => int(each, 4)),
    ...values.map(each => field(Buffer.from(each)))
  ])

interface Row {
  readonly count: number | null
  readonly cost: number | null
  readonly name: string | null
  readonly tags: readonly string[]
  readonly ms: number | null
}

const written = ({ count, cost, name, tags, ms }: Row): Buffer =>
  Buffer.concat([
    int(COLUMNS.length, 2),
    field(count === null ? null : long(count)),
    field(cost === null ? null : double(cost)),
    field(name === null ? null : Buffer.from(name)),
    field(tags.length === 0 ? null : textArray(tags)),
    field(ms === null ? null : long((ms - EPOCH_2000_MS) * 1000))
  ])

function readAll(page: Buffer): Row[] {
  const cursor = new RowCursor(page, COLUMNS)
  const rows: Row[] = []
  while (cursor.next()) {
    const time = cursor.time('started_at')
    rows.push({
      count: cursor.number('count'),
      cost: cursor.double('cost'),
      name: cursor.text('name'),
      tags: cursor.tags(),
      ms: time === null ? null : Date.parse(time)
    })
  }
  return rows
}

const Text = fc.string({ unit: 'grapheme', maxLength: 20 })
const Rows = fc.array(
  fc.record({
    count: fc.option(fc.maxSafeInteger()),
    cost: fc.option(fc.double({ noNaN: true })),
    name: fc.option(Text),
    tags: fc.array(
      Text.filter(text => text !== ''),
      { maxLength: 4 }
    ),
    ms: fc.option(fc.integer({ min: Date.UTC(1900, 0, 1), max: Date.UTC(2200, 0, 1) }))
  }),
  { maxLength: 4 }
)

t.test('rows are read as PostgreSQL writes them', async t => {
  fc.assert(fc.property(Rows, rows => t.same(readAll(Buffer.concat(rows.map(written))), rows) as boolean))
})

t.test('a page that is cut off or changed is read or rejected, but never read beyond its end', async () => {
  const anyPage = fc.tuple(Rows, fc.nat(), fc.nat(255), fc.boolean()).map(([rows, at, byte, isCut]) => {
    const page = Buffer.concat(rows.map(written))
    const place = at % (page.length + 1)
    if (isCut) return page.subarray(0, place)
    if (place < page.length) page[place] = byte
    return page
  })
  fc.assert(
    fc.property(anyPage, page => {
      try {
        return readAll(page).length * 2 <= page.length
      } catch (error) {
        if (error instanceof PageFault) return true
        throw error
      }
    }),
    { numRuns: 2000 }
  )
})

t.test('a page that ends within a row is rejected at every place', async t => {
  const page = written({ count: 1, cost: 0.5, name: 'näme', tags: ['a', 'ü'], ms: 0 })
  for (let length = 1; length < page.length; length++) {
    t.throws(() => readAll(page.subarray(0, length)), PageFault, `${length} bytes`)
  }
  t.equal(readAll(page).length, 1)
})
