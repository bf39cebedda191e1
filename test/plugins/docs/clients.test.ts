/**
 * Checks that the chapter about clients names an existing test for each claim. guide.test.ts runs the chapter's
 * examples.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { guideCode } from './guide.ts'

const PYTHON = 'clients/python/tests'

t.test("the README begins with the chapter's first example, which is run", t => {
  const [, example = ''] = /```ts\n(import \{ Spoor \}[\s\S]*?)```/.exec(readFileSync('README.md', 'utf8')) ?? []
  t.equal(example.trim().split('\n').length, 3)
  const [first = ''] = guideCode(readFileSync('plugins/docs/chapters/clients.html', 'utf8'), 'client', 'ts')
  t.ok(first.startsWith(example))
  t.end()
})

t.test("Python's README begins with the chapter's other example, which its tests run", t => {
  const [, example = ''] =
    /```python\n(import spoor_client[\s\S]*?)```/.exec(readFileSync('clients/python/README.md', 'utf8')) ?? []
  t.same(guideCode(readFileSync('plugins/docs/chapters/clients.html', 'utf8'), 'client', 'python'), [example.trim()])
  t.end()
})

t.test("the chapter's examples fit the page, as Python's do", t => {
  const examples = guideCode(readFileSync('plugins/docs/chapters/clients.html', 'utf8'), 'client', 'ts')
  t.same(
    examples.flatMap(example => example.split('\n')).filter(line => line.length > 88),
    []
  )
  t.end()
})

t.test('each test that the chapter names exists', t => {
  const chapter = readFileSync('plugins/docs/chapters/clients.html', 'utf8')
  const client = ['send/sender', 'send/owner', 'record/values', 'record/reading'].map(
    name => `clients/typescript/${name}`
  )
  const files = ['torture/surroundings/client', ...client]
  const titles = files.flatMap(file =>
    [...readFileSync(`test/${file}.test.ts`, 'utf8').matchAll(/^ *t\.test\('([^']+)'/gm)].map(([, title]) => title!)
  )
  const programs = readdirSync(PYTHON, { encoding: 'utf8', recursive: true }).filter(name => name.endsWith('.py'))
  const python = programs.flatMap(name =>
    [...readFileSync(join(PYTHON, name), 'utf8').matchAll(/^def test_(\w+)/gm)].map(([, title]) => title!)
  )
  const claims = chapter.slice(chapter.indexOf('<table class="claims">'))
  const rows = claims.slice(claims.indexOf('<tbody>'), claims.indexOf('</tbody>')).split('<tr>').slice(1)
  t.equal(rows.length, 14)
  for (const row of rows) {
    const [ts = [], py = []] = row
      .split('data-of=')
      .slice(1)
      .map(cell => [...cell.matchAll(/<q>([^<]+)<\/q>/g)].map(([, name]) => name!))
    t.ok(ts.length > 0 && py.length > 0, row)
    for (const name of ts) t.ok(titles.includes(name), name)
    for (const name of py) t.ok(python.includes(name.replaceAll(' ', '_')), name)
  }
  t.end()
})
