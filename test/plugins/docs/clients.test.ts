/** The chapter about clients names a test for each promise. Its examples are run in guide.test.ts. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { guideCode } from './guide.ts'

t.test('the README begins as the chapter does, whose examples are run', t => {
  const [, example = ''] = /```ts\n(import \{ Spoor \}[\s\S]*?)```/.exec(readFileSync('README.md', 'utf8')) ?? []
  t.equal(example.trim().split('\n').length, 3)
  const [first = ''] = guideCode(readFileSync('plugins/docs/clients.html', 'utf8'), 'client', 'ts')
  t.ok(first.startsWith(example))
  t.end()
})

t.test('each test that the chapter names is there', t => {
  const chapter = readFileSync('plugins/docs/clients.html', 'utf8')
  const files = ['torture/surroundings/client', 'lib/client/send/sender', 'lib/client/record/values']
  const tests = files.map(file => readFileSync(`test/${file}.test.ts`, 'utf8')).join('')
  const rows = chapter.slice(chapter.indexOf('<tbody>'), chapter.indexOf('</tbody>')).split('<tr>').slice(1)
  t.equal(rows.length, 10)
  for (const row of rows) {
    const named = [...row.slice(row.lastIndexOf('<td>')).matchAll(/<code>([^<]+)<\/code>/g)].map(([, name]) => name!)
    t.ok(named.length > 0, row)
    for (const name of named) t.ok(tests.includes(name), name)
  }
  t.end()
})
