/**
 * `npm run lint [-- --shrink]`, after biome: finds comments that start without a subject, lines of more than 120
 * columns, and names that more than two files export. words.json allows the findings that the code still has. An
 * allowed number that is too high also fails, so that the numbers only decrease; `--shrink` lowers them to the current
 * numbers. The report ends with two figures that should not grow: duplicate exports and lines of source code. Tests
 * count the folders and arrows of lib (test/lib/readme.test.ts) and of the dashboard's app (rooms.test.ts), and the
 * files that depend on the cluster.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Allowed, byName, byPath, compare } from './allowed.ts'
import { exportedNames, type Finding, headlessComments, longLines, MOST_COLUMNS, MOST_FILES } from './rules.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const ALLOWED = join(ROOT, 'test/lint/words.json')
const COMMENTED = /\.(?:tsx?|css)$/
const BROKEN_INTO_LINES = /\.(?:tsx?|css|md|sql|py|go)$/
const SOURCE = /^(?:lib|plugins|bin|workers|clients)\/.*\.tsx?$/
/** The guide's examples have their own width, which biome and a test enforce. rules.test.ts breaks the rules. */
const EXEMPT = /^plugins\/docs\/examples\/|^test\/lint\/rules\.test\.ts$/

const RULES = {
  comments: `the comment begins without a subject`,
  lines: `the line has more than ${MOST_COLUMNS} columns`,
  names: `more than ${MOST_FILES} files export this name`
}
type Rule = keyof typeof RULES

const files = trackedFiles().map(path => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
const find = (paths: RegExp, rule: (path: string, text: string) => Finding[]) =>
  files.filter(({ path }) => paths.test(path)).flatMap(({ path, text }) => rule(path, text))

const allowed = JSON.parse(readFileSync(ALLOWED, 'utf8')) as Record<Rule, Allowed>
const comparisons = {
  comments: compare(byPath(find(COMMENTED, headlessComments), allowed.comments), allowed.comments),
  lines: compare(byPath(find(BROKEN_INTO_LINES, longLines), allowed.lines), allowed.lines),
  names: compare(byName(find(SOURCE, exportedNames), MOST_FILES), allowed.names)
}

if (process.argv.includes('--shrink')) shrink()
else report()

function shrink(): void {
  const shrunk = Object.fromEntries(Object.entries(comparisons).map(([rule, { shrunk }]) => [rule, shrunk]))
  writeFileSync(ALLOWED, `${JSON.stringify(shrunk, null, 2)}\n`)
}

function report(): void {
  for (const [rule, { broken, loose }] of Object.entries(comparisons)) {
    for (const { path, line, text } of broken)
      console.log(`${path}:${line} ${RULES[rule as Rule]}: ${text.slice(0, 80)}`)
    for (const key of loose) console.log(`test/lint/words.json allows more ${rule} than there are: ${key}`)
  }
  const all = Object.values(comparisons)
  const broken = all.reduce((sum, each) => sum + each.broken.length, 0)
  const loose = all.reduce((sum, each) => sum + each.loose.length, 0)
  const left = (rule: Rule) => Object.values(allowed[rule]).reduce((sum, count) => sum + count, 0)
  console.log(
    `words: ${broken} broken, ${loose} loose; still allowed: ${left('comments')} comments without a subject, ` +
      `${left('lines')} long lines, ${Object.keys(allowed.names).length} names of more than ${MOST_FILES} files`
  )
  console.log(`source: ${countDoubled()} names exported by two files or more, ${countLines()} lines`)
  if (loose > 0) console.log('npm run lint -- --shrink lowers what is allowed to what there is')
  if (broken + loose > 0) process.exitCode = 1
}

function countDoubled(): number {
  const exporters = new Map<string, Set<string>>()
  for (const { path, text } of find(SOURCE, exportedNames)) exporters.set(text, new Set(exporters.get(text)).add(path))
  return [...exporters.values()].filter(({ size }) => size > 1).length
}

/** Counts the lines of TypeScript and CSS in the service and the TypeScript client. */
function countLines(): number {
  const counted = files.filter(({ path }) =>
    /^(?:lib|plugins|bin|workers|clients\/typescript)\/.*\.(?:tsx?|css)$/.test(path)
  )
  return counted.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
}

function trackedFiles(): string[] {
  const options = ['ls-files', '--cached', '--others', '--exclude-standard']
  const listed = execFileSync('git', options, { cwd: ROOT, encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 })
  // Git lists a file with conflicts once for each side.
  return [...new Set(listed.split('\n'))].filter(
    path => path !== '' && !EXEMPT.test(path) && existsSync(join(ROOT, path))
  )
}
