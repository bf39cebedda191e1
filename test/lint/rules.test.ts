/**
 * Tests each rule of `npm run lint` with text that breaks the rule and text that does not, and the allowed findings.
 */
import t from 'tap'
import { byName, byPath, compare } from './allowed.ts'
import { exportedNames, type Finding, headlessComments, longLines } from './rules.ts'

const linesOf = (findings: readonly Finding[]) => findings.map(each => each.line)
const at = (path: string, text = ''): Finding => ({ path, line: 1, text })

t.test('a comment without a subject is found, in each form of comment', t => {
  const text = [
    '/** What a trace costs. */',
    '/**',
    ' * So many of the spans as fit.',
    ' */',
    '// Of a span, if it has any.',
    'const a = 1 // Where the text begins',
    '<p>{/* Whoever asks */}</p>',
    '/** That which was read. */'
  ].join('\n')
  t.same(linesOf(headlessComments('a.ts', text)), [1, 3, 5, 6, 7, 8])
  t.end()
})

t.test('a comment with a subject passes, as do later lines of a comment', t => {
  const text = [
    '/** The cost of a trace. */',
    '/** Whether a trace ended. */',
    '/** Offers what is there. */',
    '/**',
    ' * The rule says',
    ' * What it says.',
    ' */',
    '// The rule names',
    '// Of which it is one.',
    'const text = "What"'
  ].join('\n')
  t.same(headlessComments('a.ts', text), [])
  t.end()
})

t.test('a line is too long from column 121 on, counted in characters', t => {
  const words = (length: number) => 'word '.repeat(40).slice(0, length)
  t.same(linesOf(longLines('a.ts', `${words(120)}\n${words(119)}ab\n${'🙂 '.repeat(60)}`)), [2])
  t.end()
})

t.test('a line that cannot be broken passes: a long word, a table or code in Markdown', t => {
  const words = 'word '.repeat(30)
  const markdown = [`| ${words} |`, '```', words, '```', words].join('\n')
  t.same(longLines('a.ts', `const url = 'https://example.com/${'a'.repeat(90)}'`), [])
  t.same(linesOf(longLines('a.md', markdown)), [5])
  t.same(linesOf(longLines('a.ts', markdown)), [1, 3, 5])
  t.end()
})

t.test('exported names are those that a file declares', t => {
  const text = [
    'export interface Step {}',
    'export async function read() {}',
    'export function* pages() {}',
    'export const LIMIT = 1',
    'export abstract class Base {}',
    'export { one, two as three }',
    "export { four } from './four.ts'",
    "export * from './five.ts'",
    'const inner = 1'
  ].join('\n')
  const names = exportedNames('a.ts', text).map(each => each.text)
  t.same(names, ['Step', 'read', 'pages', 'LIMIT', 'Base', 'one', 'three'])
  t.end()
})

t.test('a name counts once for each file that exports it', t => {
  const exports = ['a.ts', 'a.ts', 'b.ts', 'c.ts'].map(path => at(path, 'Step'))
  const named = byName([...exports, at('a.ts', 'read'), at('b.ts', 'read')], 2)
  t.same(
    [...named].map(([name, files]) => [name, files.length]),
    [['Step', 3]]
  )
  t.end()
})

t.test('a finding belongs to the longest allowed path that contains its file', t => {
  const findings = [at('lib/a/x.ts'), at('lib/a/b/y.ts'), at('lib/ab.ts')]
  const keys = [...byPath(findings, { 'lib/a': 1, 'lib/a/b': 1 }).keys()]
  t.same(keys, ['lib/a', 'lib/a/b', 'lib/ab.ts'])
  t.end()
})

t.test('exceeding the limit fails, undercutting it is loose, and shrinking only lowers limits', t => {
  const found = new Map([
    ['more', [at('more'), at('more')]],
    ['equal', [at('equal')]],
    ['less', [at('less')]],
    ['new', [at('new')]]
  ])
  const { broken, loose, shrunk } = compare(found, { more: 1, equal: 1, less: 2, none: 3 })
  t.same(
    broken.map(each => each.path),
    ['more', 'more', 'new']
  )
  t.same(loose, ['less', 'none'])
  t.same(shrunk, { more: 1, equal: 1, less: 1 })
  t.end()
})
