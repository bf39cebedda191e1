/**
 * The guide's recipes for languages without a client set the same attributes on the same spans. `npm run
 * otlp-libraries` runs the recipes in Go and Java, and checks what is stored.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const FOLDER = 'plugins/docs/examples'
const recipes = readdirSync(FOLDER)
  .filter(name => /^answer\./i.test(name))
  .sort()
const textOf = (name: string) => readFileSync(join(FOLDER, name), 'utf8')

/** Returns the spans' names, the attributes with their values, and the message of the failed span, in their order. */
function recorded(code: string): string[] {
  const text = code.replaceAll("'", '"')
  const spans = text.matchAll(/"(answer|chat gpt-4o-mini|find_order|no such order)"/g)
  const attributes = text.matchAll(/"([a-z_]+(?:\.[a-z_]+)+)"\s*(?:,|=>)\s*("[^"]*"|\d+)/g)
  return [
    ...[...spans].map(([, name]) => name!),
    ...[...attributes].map(([, name, value]) => `${name} = ${value}`).sort()
  ]
}

t.test('five languages, one trace', async t => {
  t.same(recipes, ['Answer.cs', 'Answer.java', 'answer.go', 'answer.php', 'answer.rb'])
  const wanted = recorded(textOf('answer.go'))
  t.equal(wanted.length, 14)
  for (const name of recipes) t.same(recorded(textOf(name)), wanted, name)
})

t.test('each recipe is short, and part of the guide', async t => {
  const chapter = readFileSync('plugins/docs/chapters/opentelemetry.html', 'utf8')
  const [, shown = ''] = /\{\{example: (answer\.go [^}]*)\}\}/.exec(chapter) ?? []
  t.same(shown.split(' ').sort(), recipes)
  for (const name of recipes) {
    const lines = textOf(name).split('\n')
    t.ok(lines.length <= 61, `${name} has ${lines.length} lines`)
    t.same(
      lines.filter(line => line.length > 88),
      [],
      name
    )
  }
})
