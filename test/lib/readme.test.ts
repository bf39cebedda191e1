/** The map of lib (lib/README.md) is held against the code: the files that it names, and what its rooms import. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const IMPORT = /(?:from |import\()'(\.[^']+)'/g
const map = readFileSync(join(ROOT, 'lib/README.md'), 'utf8')
const contributing = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')

/** The files of lib that stand in no folder: every room may use them. */
const SHARED = 'lib/*.ts'
const MOST_ARROWS = 140
const imports = new Map(
  ['bin', 'lib', 'plugins', 'workers'].flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => /\.tsx?$/.test(name) && !name.startsWith('docs/examples/'))
      .map(name => [join(folder, name), importsOf(join(folder, name))] as const)
  )
)
/** The table of rooms on the map: for each what it may import. */
const rowsOfTheMap = new Map(
  [...map.matchAll(/^\| `((?:lib\/)?[\w.]+)` +\|[^|]*\| ([^|]*?) +\|$/gm)].map(([, room, names]) => [
    room as string,
    (names as string).split(', ').filter(name => name !== 'none')
  ])
)

t.test('every file and folder that the map and CONTRIBUTING.md name exists', t => {
  // What is built, and the name of a migration that is yet to come, are not in the tree.
  const text = `${map}${contributing}`.replaceAll(/\bbuild\/\S+|sql\/NNNN\S+/g, '')
  const named = new Set(text.match(/\b(?:lib|plugins|workers|bin|test|sql)\/[\w./-]*\w/g))
  t.ok(named.size > 50)
  for (const path of named) t.ok(existsSync(join(ROOT, path)), path)
  t.end()
})

t.test('each room is on the map, and imports the rooms that its row names, no more and no fewer', t => {
  const arrows = arrowsBetween(roomOf)
  const rooms = new Set([...imports.keys()].map(roomOf))
  t.same([...rowsOfTheMap.keys()].sort(), [...rooms].filter(room => room !== SHARED).sort())
  for (const [room, allowed] of rowsOfTheMap) {
    if (allowed[0] === 'everything') continue
    const imported = [...(arrows.get(room) ?? [])].filter(to => to !== SHARED)
    t.same(imported.sort(), allowed.map(name => (rooms.has(`lib/${name}`) ? `lib/${name}` : name)).sort(), room)
  }
  t.same([...(arrows.get(SHARED) ?? [])].sort(), ['lib/limits', 'lib/schema'], 'the files that every room may use')
  t.end()
})

t.test('no two rooms import each other, and the arrows between rooms stay few', t => {
  const arrows = arrowsBetween(file => (roomOf(file) === SHARED ? file : roomOf(file)))
  const mutual = [...arrows].flatMap(([from, tos]) => [...tos].filter(to => arrows.get(to)?.has(from) && from < to))
  t.same(mutual, [])
  const coarse = arrowsBetween(file => (/^lib\/[^/]+\.ts$/.test(file) ? SHARED : roomOf(file)))
  const count = [...coarse.values()].reduce((sum, tos) => sum + tos.size, 0)
  t.ok(count <= MOST_ARROWS, `${count} arrows`)
  t.end()
})

t.test('no file imports itself by way of others, but for completion and the table of commands', t => {
  const files = [...imports.keys()].filter(file => file.endsWith('.ts'))
  const circles = files.filter(file => reaches(imports, file))
  t.same(circles.sort(), ['bin/commands/completion.ts', 'bin/commands/index.ts'])
  t.end()
})

/** A folder of lib, `plugins`, `workers` or `bin`, or one of the two files that put all together. */
function roomOf(file: string): string {
  if (!file.startsWith('lib/') || /^lib\/(?:app|service)\.ts$/.test(file))
    return file.replace(/^(?!lib)(\w+)\/.*/, '$1')
  const [, folder] = /^lib\/([^/]+)\//.exec(file) ?? []
  return folder === undefined ? SHARED : `lib/${folder}`
}

/** Which rooms the files of each room import, but for their own. */
function arrowsBetween(room: (file: string) => string): ReadonlyMap<string, ReadonlySet<string>> {
  const arrows = new Map<string, Set<string>>()
  for (const [file, tos] of imports) {
    const from = room(file)
    const others = tos.map(room).filter(to => to !== from)
    arrows.set(from, new Set([...(arrows.get(from) ?? []), ...others]))
  }
  return arrows
}

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
