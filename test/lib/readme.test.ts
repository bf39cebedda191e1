/** The map of lib (lib/README.md) is held against the code: the files that it names, and what its rooms import. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const IMPORT = /(?:from |import\()'(\.[^']+)'/g
const map = readFileSync(join(ROOT, 'lib/README.md'), 'utf8')
const contributing = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')

t.test('every file and folder that the map and CONTRIBUTING.md name exists', t => {
  // What is built, and the name of a migration that is yet to come, are not in the tree.
  const text = `${map}${contributing}`.replaceAll(/\bbuild\/\S+|sql\/NNNN\S+/g, '')
  const named = new Set(text.match(/\b(?:lib|clients|plugins|workers|bin|test|sql)\/[\w./-]*\w/g))
  t.ok(named.size > 50)
  for (const path of named) t.ok(existsSync(join(ROOT, path)), path)
  t.end()
})

t.test('every room of lib is on the map', t => {
  for (const { name } of readdirSync(join(ROOT, 'lib'), { withFileTypes: true }).filter(each => each.isDirectory())) {
    t.ok(map.includes(`\`lib/${name}\``), name)
  }
  t.end()
})

t.test('no file imports itself by way of others, but for completion and the table of commands', t => {
  const files = ['bin', 'clients/typescript', 'lib', 'plugins', 'workers'].flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts'))
      .map(name => join(folder, name))
  )
  const imports = new Map(files.map(file => [file, importsOf(file)]))
  const circles = files.filter(file => reaches(imports, file))
  t.same(circles.sort(), ['bin/commands/completion.ts', 'bin/commands/index.ts'])
  t.end()
})

function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(IMPORT)].map(([, to]) => relative(ROOT, join(ROOT, dirname(file), to as string)))
}

/** Whether a file is among all that it imports, directly or not. */
function reaches(imports: ReadonlyMap<string, readonly string[]>, file: string): boolean {
  const seen = new Set<string>()
  const open = [...(imports.get(file) ?? [])]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === file) return true
    if (!seen.has(next)) open.push(...(imports.get(next) ?? []))
    seen.add(next)
  }
  return false
}
