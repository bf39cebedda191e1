import fc from 'fast-check'
import t from 'tap'
import { findFull, findRoom, ROOM, type RollupPart } from '../../../lib/rollups/name-limits.ts'

const part = (list: string, over: Partial<RollupPart> = {}): RollupPart => ({
  level: 'n',
  start: 'h0',
  list,
  within: 'f',
  name: list,
  ...over
})
const names = (count: number, prefix = 'k') => Array.from({ length: count }, (_, i) => `${prefix}${i}`)

t.test('names have their own rows up to a limit, and are then counted under their family', t => {
  const known = names(ROOM.n - 2, 'old')
  const parts = [part('old3'), part('a'), part('b'), part('c'), part('d', { within: 'g' }), part('a')]
  const rows = [{ level: 'n', start: 'h0', rows: known.length }]
  t.same(findFull(parts, rows), [{ level: 'n', start: 'h0' }])
  const placed = findRoom(parts, [{ level: 'n', start: 'h0', lists: known }])
  t.same(
    placed.map(({ list }) => list),
    ['old3', 'a', 'b', 'f', 'g', 'a']
  )
  t.end()
})

t.test('hours and days of families are never full, and few names fit', t => {
  const families = names(ROOM.n + 1).map(list => part(list, { level: 'f' }))
  t.same(findFull([...families, part('a')], [{ level: 'n', start: 'h0', rows: ROOM.n - 1 }]), [])
  t.end()
})

t.test('amounts are subtracted where they were added, in any portions', async () => {
  const kinds = fc.array(fc.nat(ROOM.n + 200), { minLength: 1, maxLength: 900 })
  fc.assert(
    fc.property(kinds, fc.integer({ min: 1, max: 400 }), (numbers, portion) => {
      const sums = new Map<string, number>()
      const all = [...numbers.map(n => [n, 1] as const), ...numbers.map(n => [n, -1] as const)]
      for (let at = 0; at < all.length; at += portion) {
        const parts = all.slice(at, at + portion).map(([n, one]) => ({ ...part(`k${n}`), one }))
        const full = findFull(parts, [{ level: 'n', start: 'h0', rows: sums.size }])
        const placed = findRoom(
          parts,
          full.map(place => ({ ...place, lists: [...sums.keys()] }))
        )
        for (const { list, one } of placed) sums.set(list, (sums.get(list) ?? 0) + one)
      }
      return sums.size <= ROOM.n + 1 && [...sums.values()].every(sum => sum === 0)
    }),
    { numRuns: 30 }
  )
})
