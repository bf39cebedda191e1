import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { hashText } from '../../../lib/rows/list-numbers.ts'
import { testDatabase } from '../../fixtures/database/database.ts'

const half = fc.oneof(fc.integer(), fc.constantFrom(0, -1, 2 ** 31 - 1, -(2 ** 31)))
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.string({ unit: 'grapheme-ascii', maxLength: 60 }),
  fc.integer({ min: 0, max: 2000 }).map(length => 'prompt é '.repeat(length).slice(0, length))
)
const seeded = fc.record({
  text: text.filter(each => !each.includes('\0') && each.isWellFormed()),
  high: half,
  low: half
})

const number = ({ high, low }: { high: number; low: number }) => (BigInt(high) << 32n) | BigInt(low >>> 0)

t.test('a text has the same hash as in PostgreSQL', async t => {
  const { sqlAccess } = await testDatabase(t)
  await fc.assert(
    fc.asyncProperty(fc.array(seeded, { minLength: 1, maxLength: 50 }), async items => {
      const rows = await sqlAccess.read(
        sql => sql`
          select hashtextextended(text, seed)::text as hash
          from unnest(${items.map(({ text }) => text)}::text[], ${items.map(item => String(number(item)))}::bigint[])
            with ordinality as items (text, seed, place)
          order by place`
      )
      assert.deepEqual(
        items.map(item => String(number(hashText(item.text, item)))),
        rows.map(({ hash }) => hash)
      )
    })
  )
  t.pass()
})
