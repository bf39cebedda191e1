import t from 'tap'
import {
  type EstimatedColumn,
  estimateIndex,
  estimateTable,
  PAGE,
  storeRow
} from '../../../../lib/store/compaction/estimates.ts'

const int: EstimatedColumn = { length: 4, align: 'i', storage: 'p' }
const bigint: EstimatedColumn = { length: 8, align: 'd', storage: 'p' }
const text: EstimatedColumn = { length: -1, align: 'i', storage: 'x' }

t.test('a row is aligned, and its largest values are moved out of it first', async t => {
  // 24 bytes of header, 4 + 4 for alignment + 8, and 4 for the line pointer.
  t.same(storeRow([int, bigint], [4, 8], 2032), { bytes: 24 + 16 + 4, moved: [] })
  t.same(storeRow([int, bigint], [4, null], 2032), { bytes: 24 + 8 + 4, moved: [] })
  t.same(storeRow([text, text], [1500, 1400], 2032).moved, [1500])
  t.same(storeRow([text, text], [1500, 1400], 4080).moved, [])
  t.same(storeRow([text, text], [5000, 6000], 2032).moved, [6000, 5000])
})

t.test('an empty table takes no space, and an empty index has one page', async t => {
  const none = { columns: [int], rows: [], share: 1, fillfactor: 100, toastTarget: 2032 }
  t.equal(estimateTable({ ...none, hasToast: false }), 0)
  t.equal(estimateTable({ ...none, hasToast: true }), PAGE)
  t.equal(estimateIndex({ groups: [], share: 1, fillfactor: 90, deduplicates: true }), PAGE)
})

t.test('a key of many rows is stored once, unless the index does not allow it', async t => {
  const groups = [{ rows: 100, groups: 1000, bytes: 24 }]
  const [once, each] = [true, false].map(deduplicates =>
    estimateIndex({ groups, share: 1, fillfactor: 90, deduplicates })
  )
  t.ok(once! < each! / 3, `${once} and ${each}`)
})
