/** Checks that the files, names and headings in the documents exist, and that imports have no cycles. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const IMPORT = /(?:from |import\()'(\.[^']+)'/g
const MAP = 'lib/README.md'
const DOCUMENTS = [
  MAP,
  'AGENTS.md',
  'CONTRIBUTING.md',
  'clients/README.md',
  'lib/CONTRACT.md',
  'lib/DECISIONS.md',
  'lib/otlp/README.md',
  'plugins/dashboard/README.md'
]
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const map = textOf(MAP)

/** The files of lib that are in no subfolder. Every room may import them. */
const SHARED = 'lib/*.ts'
const MOST_ARROWS = 141
const imports = new Map(
  ['bin', 'clients/typescript', 'lib', 'plugins', 'workers'].flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => /\.tsx?$/.test(name) && !name.startsWith('docs/examples/'))
      .map(name => [join(folder, name), importsOf(join(folder, name))] as const)
  )
)
/** The map's table of rooms, with the rooms that each may import. */
const rowsOfTheMap = new Map(
  [...map.matchAll(/^\| `((?:lib\/)?[\w.]+)` +\|[^|]*\| ([^|]*?) +\|$/gm)].map(([, room, names]) => [
    room as string,
    (names as string).split(', ').filter(name => name !== 'none')
  ])
)

for (const document of DOCUMENTS) {
  t.test(`every file and folder that ${document} names exists`, t => {
    // Build output and the next migration are not in the tree.
    const text = textOf(document).replaceAll(/\bbuild\/\S+|sql\/NNNN\S+/g, '')
    const named = new Set(text.match(/\b(?:lib|plugins|workers|bin|test|sql|clients)\/[\w./-]*\w/g))
    t.ok(named.size >= 10)
    for (const path of named) t.ok(existsSync(join(ROOT, path)), path)
    for (const [, link] of text.matchAll(/\]\(([^)#:]+)\)/g)) {
      t.ok(existsSync(join(ROOT, dirname(document), link as string)), `the link ${link}`)
    }
    t.end()
  })
}

t.test('the map links to every other document', t => {
  for (const document of DOCUMENTS.filter(each => ![MAP, 'AGENTS.md'].includes(each))) {
    t.ok(map.includes(`(${relative('lib', document)})`), document)
  }
  t.ok(textOf('AGENTS.md').includes(MAP))
  t.end()
})

t.test('the answer to every question on the map is a name in the files beside it', t => {
  const [, table = ''] = map.split('## Where it is decided')
  const rows = table.split('\n## ')[0]!.match(/^\| .*\? .*$/gm) ?? []
  t.ok(rows.length >= 15)
  const quoted = (cell = '') => Array.from(cell.matchAll(/`([^`]+)`/g), ([, text]) => text as string)
  for (const row of rows) {
    const [, question = '', files, names] = row.split('|')
    const texts = quoted(files)
      .filter(file => file.endsWith('.ts'))
      .map(textOf)
    const wanted = quoted(names)
    t.ok(texts.length > 0 && wanted.length > 0, question)
    for (const name of wanted)
      t.ok(
        texts.some(text => new RegExp(`\\b${name}\\b`).test(text)),
        `${question} ${name}`
      )
  }
  t.end()
})

t.test('every heading of test/bench/RESULTS.md that lib/DECISIONS.md cites exists', t => {
  const text = textOf('lib/DECISIONS.md').replaceAll(/\s+/g, ' ')
  const headings = textOf('test/bench/RESULTS.md').match(/^#+ .*$/gm) ?? []
  const cited = Array.from(text.matchAll(/\(((?:"[^"]+"(?:, )?)+)\)/g), ([, list]) => list!.match(/[^",][^"]+/g) ?? [])
  t.ok(cited.length > 15)
  for (const heading of cited.flat().filter(each => each !== ', ')) {
    t.ok(
      headings.some(each => each.replace(/^#+ /, '') === heading),
      heading
    )
  }
  t.end()
})

t.test('the code reads every attribute that lib/otlp/README.md names', t => {
  const files = readdirSync(join(ROOT, 'lib/otlp'), { recursive: true, encoding: 'utf8' })
  const code = files.filter(name => name.endsWith('.ts')).map(name => textOf(join('lib/otlp', name)))
  const named = Array.from(textOf('lib/otlp/README.md').matchAll(/`([a-z][\w]*(?:\.\w+)+)\.?`/g), ([, name]) => name!)
  const attributes = named.filter(name => !name.endsWith('.ts') && !/\.\d\./.test(name))
  t.ok(attributes.length > 50)
  for (const name of attributes)
    t.ok(
      code.some(text => text.includes(name)),
      name
    )
  t.end()
})

t.test('each module is on the map, and imports exactly the modules in its row', t => {
  const arrows = arrowsBetween(roomOf)
  const rooms = new Set([...imports.keys()].map(roomOf))
  t.same([...rowsOfTheMap.keys()].sort(), [...rooms].filter(room => room !== SHARED).sort())
  for (const [room, allowed] of rowsOfTheMap) {
    if (allowed[0] === 'everything') continue
    const imported = [...(arrows.get(room) ?? [])].filter(to => to !== SHARED)
    t.same(imported.sort(), allowed.map(name => (rooms.has(`lib/${name}`) ? `lib/${name}` : name)).sort(), room)
  }
  t.same([...(arrows.get(SHARED) ?? [])].sort(), ['lib/limits', 'lib/schema'], 'the files that every module may use')
  t.end()
})

t.test('no two modules import each other, and there are few dependencies', t => {
  const arrows = arrowsBetween(file => (roomOf(file) === SHARED ? file : roomOf(file)))
  const mutual = [...arrows].flatMap(([from, tos]) => [...tos].filter(to => arrows.get(to)?.has(from) && from < to))
  t.same(mutual, [])
  const coarse = arrowsBetween(file => (/^lib\/[^/]+\.ts$/.test(file) ? SHARED : roomOf(file)))
  const count = [...coarse.values()].reduce((sum, tos) => sum + tos.size, 0)
  t.ok(count <= MOST_ARROWS, `${count} arrows`)
  t.end()
})

t.test('no file imports itself through others, except completion and the table of commands', t => {
  const files = [...imports.keys()].filter(file => file.endsWith('.ts'))
  const circles = files.filter(file => reaches(imports, file))
  t.same(circles.sort(), ['bin/commands/completion.ts', 'bin/commands/index.ts'])
  t.end()
})

/**
 * Returns the room of a file: a folder of lib, `plugins`, `workers`, `bin` or `clients`, or one of the two files that
 * assemble everything.
 */
function roomOf(file: string): string {
  if (!file.startsWith('lib/') || /^lib\/(?:app|service)\.ts$/.test(file))
    return file.replace(/^(?!lib)(\w+)\/.*/, '$1')
  const [, folder] = /^lib\/([^/]+)\//.exec(file) ?? []
  return folder === undefined ? SHARED : `lib/${folder}`
}

/** Returns the other rooms that the files of each room import. */
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
  return [...textOf(file).matchAll(IMPORT)].map(([, to]) => relative(ROOT, join(ROOT, dirname(file), to as string)))
}

/** Returns whether a file imports itself, directly or indirectly. */
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
