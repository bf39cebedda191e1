/**
 * Checks the folders of the dashboard's app: their names, their imports, and the modules that run without a browser.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'

const ROOT = new URL('.', import.meta.resolve('#package.json')).pathname
const APP = 'plugins/dashboard/app'
const PAGES = [
  ...['compare', 'errors', 'groups', 'list', 'overview', 'review', 'scores', 'sessions', 'settings', 'shared'],
  ...['shell', 'steps', 'trace']
]
const SHARED = ['charts', 'content', 'content/markdown', 'state', 'ui']
/** The entry points of the page and its worker, which may import from every folder. */
const ENTRIES = ['main.tsx', 'worker.ts']
const MOST_ARROWS = 75

const IMPORT = /(?:from |import |import\()'([^']+)'/g
const files = readdirSync(join(ROOT, APP), { recursive: true, encoding: 'utf8' }).filter(name => /\.tsx?$/.test(name))
const imports = new Map(files.map(file => [file, importsOf(file)]))
const arrows = arrowsBetweenRooms()

t.test('each page has a folder, and so has everything that pages share', t => {
  const folders = new Set(files.map(dirname))
  folders.delete('.')
  t.same([...folders].sort(), [...PAGES, ...SHARED].sort())
  t.end()
})

t.test('no page imports from another page', t => {
  const between = [...arrows].filter(([from]) => PAGES.includes(from)).flatMap(([, to]) => [...to])
  t.same(
    between.filter(to => PAGES.includes(to)),
    []
  )
  t.end()
})

t.test('shared modules import nothing from a page', t => {
  const shared = [...arrows].filter(([from]) => SHARED.includes(from)).flatMap(([, to]) => [...to])
  t.same(
    shared.filter(to => PAGES.includes(to) || to === 'entries'),
    []
  )
  t.end()
})

t.test(`there are at most ${MOST_ARROWS} dependencies between folders, and no cycles`, t => {
  const count = [...arrows.values()].reduce((sum, { size }) => sum + size, 0)
  t.ok(count > 30 && count <= MOST_ARROWS, `${count} arrows`)
  t.same(circleOf(arrows), [])
  t.end()
})

t.test('modules that run without a browser import none that needs one', t => {
  // The compiler checks these modules without a browser's types, which an import of preact would add.
  const excluded = readFileSync(join(ROOT, 'tsconfig.json'), 'utf8').matchAll(/"plugins\/dashboard\/app\/([\w/.-]+)"/g)
  const needsBrowser = [...excluded].map(([, path]) => path!)
  const logic = files.filter(
    file => file.endsWith('.ts') && !needsBrowser.some(path => file === path || file.startsWith(`${path}/`))
  )
  t.ok(logic.length > 25, `${logic.length} modules`)
  for (const file of logic)
    t.notOk(
      [...reachedFrom(file)].some(name => name.startsWith('preact')),
      file
    )
  t.end()
})

function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, APP, file), 'utf8')
  return [...text.matchAll(IMPORT)].map(([, to]) => (to!.startsWith('.') ? normalize(join(dirname(file), to!)) : to!))
}

/**
 * Returns the room of a file. Of the files in no folder, the entry points share a room, and each file that contains
 * only types is a room of its own.
 */
function roomOf(file: string): string {
  if (ENTRIES.includes(file)) return 'entries'
  return dirname(file) === '.' ? file : dirname(file)
}

function arrowsBetweenRooms(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const [file, imported] of imports) {
    const from = roomOf(file)
    const to = imported.filter(name => imports.has(name)).map(roomOf)
    found.set(from, new Set([...(found.get(from) ?? []), ...to.filter(room => room !== from)]))
  }
  return found
}

/** Returns the rooms that remain after rooms that import no remaining room are removed one by one. */
function circleOf(arrows: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const left = new Set(arrows.keys())
  const isEnd = (room: string) => ![...arrows.get(room)!].some(to => left.has(to))
  for (let end = [...left].find(isEnd); end !== undefined; end = [...left].find(isEnd)) left.delete(end)
  return [...left]
}

function reachedFrom(file: string): Set<string> {
  const reached = new Set<string>()
  const open = [file]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue
    reached.add(next)
    open.push(...(imports.get(next) ?? []))
  }
  return reached
}
