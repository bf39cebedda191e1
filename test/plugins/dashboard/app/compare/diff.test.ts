/** Tests the comparison of two texts. */
import fc from 'fast-check'
import t from 'tap'
import { readable } from '../../../../../plugins/dashboard/app/compare/readable-json.ts'
import { commonRuns, type Run } from '../../../../../plugins/dashboard/app/compare/sequence.ts'
import {
  countChanges,
  type DiffLine,
  diffTexts,
  stretches
} from '../../../../../plugins/dashboard/app/compare/text-diff.ts'
import { compareAddress, readComparison, traceIdIn } from '../../../../../plugins/dashboard/app/state/comparison.ts'
import { runs } from '../../../../torture/orders.ts'

const total = (runs: readonly Run[]) => runs.reduce((sum, { length }) => sum + length, 0)

/** Checks that runs are in order, consist of equal elements, and cannot be merged. */
function isSound(a: Int32Array, b: Int32Array, runs: readonly Run[]): boolean {
  let [x, y] = [0, 0]
  for (const [i, run] of runs.entries()) {
    if (run.length < 1 || run.a < x || run.b < y) return false
    if (i > 0 && run.a === x && run.b === y) return false
    for (let k = 0; k < run.length; k++) if (a[run.a + k] !== b[run.b + k]) return false
    ;[x, y] = [run.a + run.length, run.b + run.length]
  }
  return x <= a.length && y <= b.length
}

function longestCommon(a: Int32Array, b: Int32Array): number {
  let before = new Int32Array(b.length + 1)
  for (const value of a) {
    const row = new Int32Array(b.length + 1)
    for (let j = 0; j < b.length; j++) row[j + 1] = value === b[j] ? before[j]! + 1 : Math.max(before[j + 1]!, row[j]!)
    before = row
  }
  return before[b.length]!
}

const sequence = (most: number) =>
  fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: most }).map(list => Int32Array.from(list))

t.test('finds the longest common subsequence of two short sequences', async () => {
  fc.assert(
    fc.property(sequence(40), sequence(40), (a, b) => {
      const runs = commonRuns(a, b)
      return isSound(a, b, runs) && total(runs) === longestCommon(a, b)
    }),
    runs(120)
  )
})

t.test('with any step budget, only common elements are found', async () => {
  fc.assert(
    fc.property(sequence(60), sequence(60), fc.nat(300), (a, b, steps) => isSound(a, b, commonRuns(a, b, steps))),
    runs(60)
  )
})

t.test('long sequences are split at elements that occur once in each', async t => {
  const a = Int32Array.from({ length: 30_000 }, (_, i) => (i % 3 === 0 ? i + 10 : i % 2))
  const b = Int32Array.from([...a.subarray(0, 7000), 5, 6, 7, ...a.subarray(7100, 20_000), ...a.subarray(20_001), 8])
  const runs = commonRuns(a, b)
  t.ok(isSound(a, b, runs))
  t.ok(total(runs) >= 30_000 - 101)
})

t.test('long sequences without unique elements are split in half', async t => {
  const a = Int32Array.from({ length: 20_000 }, (_, i) => i % 7)
  const b = Int32Array.from({ length: 20_000 }, (_, i) => (i % 7 < 4 ? i % 7 : 10 + (i % 3)))
  const runs = commonRuns(a, b)
  t.ok(isSound(a, b, runs))
  t.ok(total(runs) > 11_000, `${total(runs)}`)
})

t.test('for long sequences with nothing in common, nothing is found, quickly', async t => {
  const a = Int32Array.from({ length: 50_000 }, (_, i) => i)
  const b = Int32Array.from({ length: 50_000 }, (_, i) => -1 - i)
  t.same(commonRuns(a, b, 200_000), [])
})

const lines = fc
  .array(fc.constantFrom('', 'one', 'two words', 'three more words', 'ein Wort', 'ß\u202e', ' indented', '{'), {
    maxLength: 30
  })
  .map(list => list.join('\n'))

function diffText(lines: readonly DiffLine[], side: 'before' | 'after'): string {
  const other = side === 'before' ? 'new' : 'gone'
  return lines
    .filter(({ kind }) => kind !== other)
    .map(line => (line.kind === 'same' ? line.text : line.pieces.map(({ text }) => text).join('')))
    .join('\n')
}

t.test('the difference contains both texts', async () => {
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const diff = diffTexts(before, after)
      return diffText(diff, 'before') === before && diffText(diff, 'after') === after
    }),
    runs(60)
  )
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.string({ unit: 'binary', maxLength: 200 }),
      (a, b) => {
        const diff = diffTexts(a, b)
        return diffText(diff, 'before') === a && diffText(diff, 'after') === b
      }
    ),
    runs(60)
  )
})

const shown = (diff: readonly DiffLine[]) =>
  diff.map(line =>
    line.kind === 'same'
      ? `  ${line.text}`
      : `${line.kind === 'gone' ? '- ' : '+ '}${line.pieces.map(({ text, changed }) => (changed ? `[${text}]` : text)).join('')}`
  )

t.test('changed words are marked within a changed line', async t => {
  t.same(shown(diffTexts('a\nthe quick brown fox\nz', 'a\nthe slow brown fox\nz')), [
    '  a',
    '- the [quick] brown fox',
    '+ the [slow] brown fox',
    '  z'
  ])
  t.same(
    shown(diffTexts('Nothing of this stays.', 'All new words here, friend!')),
    ['- Nothing of this stays.', '+ All new words here, friend!'],
    'lines that have little in common are two lines'
  )
  t.same(shown(diffTexts('a\nb', 'a')), ['  a', '- b'])
  t.same(shown(diffTexts(undefined, 'a\n')), ['+ a', '+ '])
  t.same(shown(diffTexts('', '')), ['  '])
})

t.test('equal lines are folded, except for three lines around each change', async t => {
  const before = Array.from({ length: 40 }, (_, i) => `line ${i}`)
  const after = before.with(20, 'something else')
  const diff = diffTexts(before.join('\n'), after.join('\n'))
  t.same(countChanges(diff), { gone: 1, come: 1 })
  t.same(
    stretches(diff, new Set()).map(({ from, to, folded }) => `${from}–${to}${folded ? ' folded' : ''}`),
    ['0–17 folded', '17–25', '25–41 folded']
  )
  t.same(
    stretches(diff, new Set([0])).map(({ from, to, folded }) => `${from}–${to}${folded ? ' folded' : ''}`),
    ['0–25', '25–41 folded']
  )
  t.same(stretches(diffTexts('a\nb', 'a\nc'), new Set()), [{ from: 0, to: 3, folded: false }])
  fc.assert(
    fc.property(lines, lines, (a, b) => {
      const diff = diffTexts(a, b)
      let at = 0
      for (const { from, to, folded } of stretches(diff, new Set())) {
        if (from !== at || to <= from) return false
        if (folded && diff.slice(from, to).some(({ kind }) => kind !== 'same')) return false
        at = to
      }
      return at === diff.length
    }),
    runs(30)
  )
})

t.test('JSON is compared by lines, and a multi-line text by its own', async t => {
  t.equal(readable('"plain\\ntext"'), 'plain\ntext')
  t.equal(
    readable(
      '{"n": 107505301260286111, "list": [1e400, -0], "text": "one\\ntwo", "short": "a\\tb", "none": {}, "no": []}'
    ),
    `{
  "n": 107505301260286111,
  "list": [
    1e400,
    -0
  ],
  "text": "one
  two",
  "short": "a\\tb",
  "none": {},
  "no": []
}`
  )
})

t.test('a comparison is stored in its address', async t => {
  const [a, b] = ['a'.repeat(32), 'b'.repeat(32)]
  const address = compareAddress('default', { a, b, span: 'b:1f' })
  t.equal(address, `p/default/compare?a=${a}&b=${b}&span=b%3A1f`)
  t.same(readComparison(address.slice(address.indexOf('?'))), { a, b, span: 'b:1f' })
  t.same(readComparison('?a=%20ABC'), { a: 'abc', b: '', span: undefined })
  t.equal(traceIdIn(` ${a.toUpperCase()} `), a)
  t.equal(traceIdIn(`https://x.example/app/p/default/traces/${b}?span=1`), b)
})
