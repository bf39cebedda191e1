import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { listLines } from '../../../bin/asking/output.ts'
import { type FittedColumn, fitTable } from '../../../bin/terminal/fitted-table.ts'
import { cutTo, type Line, pieceText, renderLine, widthOf } from '../../../bin/terminal/lines.ts'
import { Screen } from '../../../bin/terminal/screen.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { runs } from '../../torture/orders.ts'

const CONTROLS = /[^\P{Cc}\n]|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u
const hostile = fc.string({
  unit: fc.constantFrom('a', 'é', '語', '🙂', '\u001b', '[31m', '\n', '\t', '\u009b', '\u202e')
})
const plain = (line: Line) => renderLine(line, false)

t.test('only styles control the terminal', async t => {
  t.equal(renderLine(['a', { text: 'b', style: 'red' }, { text: '', style: 'bold' }], true), 'a\u001b[31mb\u001b[0m')
  t.equal(renderLine(['a', { text: 'b\u001b[2J', style: 'red' }], false), 'ab\\u001b[2J')
  fc.assert(
    fc.property(fc.array(hostile), texts => {
      assert.doesNotMatch(plain(texts), CONTROLS)
      const coloured = renderLine(
        texts.map(text => ({ text, style: 'cyan' }) as const),
        true
      )
      assert.doesNotMatch(coloured.replaceAll('\u001b[36m', '').replaceAll('\u001b[0m', ''), CONTROLS)
    }),
    runs(100)
  )
})

t.test('a text is as wide as a terminal shows it, and is truncated to a width', async t => {
  const widths: [string, number][] = [
    ['abc', 3],
    ['日本', 4],
    ['한글', 4],
    ['e\u0301', 1],
    ['🙂!', 3],
    ['├─ é', 4],
    ['', 0]
  ]
  for (const [text, width] of widths) t.equal(widthOf(text), width, text)
  t.equal(cutTo('abcdef', 4), 'abc…')
  t.equal(cutTo('日本語', 4), '日…', 'a wide character is not split')
  t.equal(cutTo('abc', 3), 'abc')
  t.equal(cutTo('abc', 0), '')
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(20), (text, width) => {
      const cut = cutTo(text, width)
      assert.ok(widthOf(cut) <= width)
      assert.ok(cut === text || text.startsWith(cut.slice(0, -1)))
      assert.equal(cut === text, widthOf(text) <= width)
    }),
    runs(200)
  )
})

type Row = readonly string[]
const columnOf = fc.record({
  title: fc.constantFrom('A', 'NAME', 'A LONG TITLE'),
  isNumber: fc.boolean(),
  least: fc.option(fc.integer({ min: 3, max: 8 })),
  rank: fc.option(fc.nat(3))
})

t.test('a table fits the width if its columns can be truncated or omitted, and shows no wrong value', async () => {
  const tables = fc.integer({ min: 1, max: 5 }).chain(width =>
    fc.record({
      specs: fc.array(columnOf, { minLength: width, maxLength: width }),
      rows: fc.array(fc.array(hostile, { minLength: width, maxLength: width }), { maxLength: 4 }),
      width: fc.oneof(fc.nat(60), fc.constant(Number.POSITIVE_INFINITY))
    })
  )
  fc.assert(
    fc.property(tables, ({ specs, rows, width }) => {
      const columns = specs.map(
        ({ title, isNumber, least, rank }, i): FittedColumn<Row> => ({
          title,
          of: row => row[i]!,
          ...(isNumber && { isNumber: true }),
          ...(least !== null && { least }),
          ...(rank !== null && { rank })
        })
      )
      const lines = fitTable(columns, rows, width)
      assert.equal(lines.length, rows.length + 1)
      // The columns that are never omitted need these widths when they are cut to their minimum.
      const kept = columns.filter(({ rank }) => rank === undefined)
      const needs = kept.map(column => {
        const natural = Math.max(column.title.length, ...rows.map(row => widthOf(escaped(pieceText(column.of(row))))))
        return Math.min(natural, column.least ?? natural)
      })
      const least = needs.reduce((sum, need) => sum + need, Math.max(0, kept.length - 1) * 2)
      if (least <= width && kept.length > 0) for (const line of lines) assert.ok(widthOf(plain(line)) <= width)
      if (width < Number.POSITIVE_INFINITY) return
      // Without a width, nothing is cut, and only empty columns may be missing.
      rows.forEach((row, n) => {
        for (const cell of row) assert.ok(plain(lines[n + 1]!).includes(escaped(cell).trimEnd()))
      })
    }),
    runs(300)
  )
})

const escaped = (text: string): string => renderLine([text, '|'], false).slice(0, -1)

t.test('only long output on a terminal goes through the pager', async t => {
  const folder = await testFolder(t)
  const file = join(folder, 'paged')
  const lines: Line[] = Array.from({ length: 30 }, (_, i) => [`line ${i}`])
  const show = async (stdout: object, env: NodeJS.ProcessEnv, shown = lines) => {
    let out = ''
    const screen = new Screen(stdout, { PATH: process.env.PATH, ...env }, async text => {
      out += text
    })
    await screen.page(shown)
    return out
  }
  const terminal = { isTTY: true, columns: 80, rows: 24 }
  const all = lines.map(([text]) => `${text}\n`).join('')
  t.equal(await show(terminal, { PAGER: `cat > ${file}` }), '')
  t.equal(await readFile(file, 'utf8'), all)
  t.equal(await show(terminal, { PAGER: `tail -n 1 > ${file}` }, lines.slice(0, 20)), all.split('line 20')[0])
  t.equal(await readFile(file, 'utf8'), all, 'short output is written at once')
  t.equal(await show({}, { PAGER: `tail -n 1 > ${file}` }), all)
  t.equal(await readFile(file, 'utf8'), all, 'a file needs no pager')
  for (const PAGER of ['', 'cat', 'no-such-pager 2>&-']) t.equal(await show(terminal, { PAGER }), all, PAGER)
  t.equal(await show(terminal, { PAGER: 'true' }), '', 'a pager that is quit early has received its text')

  const red: Line[] = [[{ text: 'x', style: 'red' }]]
  t.equal(await show(terminal, {}, red), '\u001b[31mx\u001b[0m\n')
  t.equal(await show(terminal, { NO_COLOR: '1' }, red), 'x\n')
  t.equal(await show(terminal, { TERM: 'dumb' }, red), 'x\n')
  t.equal(await show({}, {}, red), 'x\n', 'a file gets no colours')
})

t.test("an empty list is followed by the server's hint", async t => {
  const hint = 'No trace has the name "x". The nearest: "y".'
  const list = { columns: [], rows: [], width: 80 }
  const shown = { nouns: 'traces', limit: 20, most: 100 }
  t.same(listLines(list, { hasMore: false, hint }, shown), [['No traces found.'], [hint]])
  t.same(listLines(list, { hasMore: false, hint: null }, shown), [['No traces found.']])
})
