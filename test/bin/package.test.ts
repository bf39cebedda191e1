/** Tests the contents of the npm package, and the facts that package.json states. */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, normalize, resolve } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { commands } from '../../bin/commands/index.ts'
import { VARIABLES } from '../../lib/config.ts'
import { testFolder } from '../fixtures/folder.ts'

const own = JSON.parse(readFileSync('package.json', 'utf8'))
const files: string[] = own.files
const IMPORT =
  /^(?:import|export)\b[^'"();]*\bfrom ['"]([^'"]+)['"]|^import ['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/gm
/** Matches a data file that a program reads from the package, by its path from the root. */
const DATA = /new URL\('([^']*[^'/])', import\.meta\.resolve\('#package\.json'\)\)/g

t.test('npm ci without development dependencies does not fail for lack of a compiler', async t => {
  const said = execFileSync('sh', ['-c', own.scripts.prepare], { cwd: await testFolder(t), encoding: 'utf8' })
  t.match(said, /^not built: /)
})

t.test('the package contains all modules that it imports, and depends on the packages that it imports', t => {
  const shipped = files.filter(name => !name.startsWith('!')).flatMap(filesIn)
  const there = new Set(shipped)
  // The build folder may contain output of deleted sources, which a fresh clone lacks.
  const programs = shipped.filter(
    name => /^build\/(?!dashboard).*\.js$/.test(name) && existsSync(name.replace(/^build\/(.*)js$/, '$1ts'))
  )
  const wanted = { ...own.dependencies, ...own.optionalDependencies }
  const lacking: string[] = []
  for (const program of programs) {
    // The page's bundle is in build/dashboard. Only `npm run build` runs the code that creates the bundle.
    if (/^build\/plugins\/dashboard\/(?:app\/|build|lexer-alone)/.test(program)) continue
    const text = readFileSync(program, 'utf8')
    for (const [, name = ''] of text.matchAll(DATA))
      if (!there.has(normalize(name))) lacking.push(`${program}: ${name}`)
    for (const [, ...places] of text.matchAll(IMPORT)) {
      const name = places.find(place => place !== undefined)!
      const isThere = name.startsWith('.')
        ? there.has(normalize(join(dirname(program), name)))
        : isBuiltin(name) || name.startsWith('#') || packageOf(name) in wanted
      if (!isThere) lacking.push(`${program}: ${name}`)
    }
  }
  t.ok(programs.length > 300, `${programs.length} programs`)
  t.same(lacking, [])
  for (const name of [...Object.values<string>(own.bin), own.man]) t.ok(there.has(name), name)
  t.end()
})

t.test('packages whose internals are used are pinned', t => {
  const [, section = ''] = readFileSync('CONTRIBUTING.md', 'utf8').split('## Dependencies that are pinned exactly')
  const named = [...section.slice(0, section.indexOf('\n## ')).matchAll(/`([@\w/-]+)`/g)].map(([, name]) => name!)
  const dependencies: Record<string, string> = { ...own.dependencies, ...own.optionalDependencies }
  const pinned = named.filter(name => name in dependencies)
  t.ok(pinned.length >= 2)
  for (const name of [...pinned, 'find-my-way']) t.match(dependencies[name], /^\d/, name)
  for (const name of Object.keys(own.optionalDependencies)) t.match(dependencies[name], /^\d/, name)
  t.end()
})

t.test('the guide lists every command and every variable', t => {
  const read = (name: string) => readFileSync(`plugins/docs/chapters/${name}.html`, 'utf8')
  const listed = [...read('commands').matchAll(/<tr><td>([a-z -]+)<\/td>/g)].map(([, name]) => name)
  t.same(listed.sort(), Object.keys(commands).sort())
  const [settings, signIn] = [read('settings'), read('dashboard')]
  for (const name of VARIABLES) t.ok(settings.includes(name) || signIn.includes(name), name)
  t.end()
})

t.test('the guide names the embedded PostgreSQL version and its licence', t => {
  const [version = ''] = Object.values<string>(own.optionalDependencies)
  const guide = readFileSync('plugins/docs/chapters/operating.html', 'utf8')
  t.match(guide, `PostgreSQL ${version.match(/^\d+\.\d+/)?.[0]}`)
  t.match(guide, 'PostgreSQL Licence')
  t.end()
})

t.test('workflows run existing scripts, on every supported Node', t => {
  const read = (name: string) => parse(readFileSync(`.github/workflows/${name}`, 'utf8'))
  const [ci, release] = [read('ci.yml'), read('release.yml')]
  const jobs: { steps?: { run?: string }[] }[] = [
    ...Object.values<object>(ci.jobs),
    ...Object.values<object>(release.jobs)
  ]
  const commands = jobs.flatMap(({ steps = [] }) => steps.flatMap(({ run = '' }) => run))
  for (const [, script = ''] of commands.join('\n').matchAll(/npm run ([\w:-]+)/g)) t.ok(script in own.scripts, script)
  t.ok(commands.includes('.ci/run'))
  const nodes: number[] = ci.jobs.test.strategy.matrix.node
  const [, oldest] = own.engines.node.match(/^>=(\d+)/)
  t.equal(Math.min(...nodes), Number(oldest))
  t.ok(nodes.includes(Number(readFileSync('Dockerfile', 'utf8').match(/^ARG NODE=(\d+)/m)?.[1])))
  t.match(release.jobs, { ci: { needs: 'version' }, packages: { needs: 'ci' } })
  for (const registry of ['npm', 'pypi']) {
    const job = release.jobs[registry]
    t.match(job, { needs: 'packages', permissions: { 'id-token': 'write' } })
    const text = JSON.stringify(job)
    t.notMatch(text, /checkout|npm ci|npm run/, 'a job that may publish runs no code of dependencies')
  }
  t.equal(release.jobs.packages.permissions, undefined, 'the job that builds the packages may publish nothing')
  t.match(commands.join('\n'), 'npm publish --provenance')
  t.match(commands.join('\n'), 'twine upload --non-interactive')
  t.match(commands.join('\n'), '.ci/tarball dist')
  t.ok(statSync('.ci/tarball').mode & 0o100, 'is executable')
  t.end()
})

t.test('workflows and the Dockerfile pin actions and images by digest', t => {
  const workflows = readdirSync('.github/workflows').map(name => readFileSync(`.github/workflows/${name}`, 'utf8'))
  const actions = [...workflows.join('\n').matchAll(/\buses: (\S+)(.*)/g)].filter(([, name]) => !name?.startsWith('./'))
  t.ok(actions.length > 15, `${actions.length} uses of actions`)
  for (const [line, name, version] of actions) {
    t.match(name, /^[\w./-]+@[0-9a-f]{40}$/, line)
    t.match(version, /^ # v\d+\.\d+\.\d+$/, line)
  }
  const dockerfile = readFileSync('Dockerfile', 'utf8')
  const images = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image = '']) =>
    image.replace(
      /\$\{(\w+)\}/g,
      (_, name: string) => dockerfile.match(new RegExp(`^ARG ${name}=(.*)`, 'm'))?.[1] ?? ''
    )
  )
  t.equal(images.length, 2)
  for (const image of images) t.match(image, /^[\w.:-]+@sha256:[0-9a-f]{64}$/)
  t.end()
})

t.test('one command keeps the version equal everywhere', async t => {
  const version = (folder: string, ...words: string[]) =>
    spawnSync(resolve('.ci/version'), words, { cwd: folder, encoding: 'utf8' })
  t.match(version('.'), { status: 0, stdout: `${own.version}\n` })
  const folder = await testFolder(t)
  const places = readFileSync('.ci/version', 'utf8').match(/(?<=^ {2}\[')[^']+/gm) ?? []
  t.ok(places.length >= 8)
  const changes = '# Changelog\n\n## Unreleased\n\nChanges since 2.3.3, for version 2.3.4.\n'
  writeFileSync(join(folder, 'CHANGELOG.md'), changes)
  for (const name of places) {
    mkdirSync(join(folder, dirname(name)), { recursive: true })
    copyFileSync(name, join(folder, name))
  }
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  t.match(version(folder, '2.3.4-rc.5'), { status: 0, stdout: '2.3.4-rc.5\n' })
  t.match(read('clients/python/spoor_client/__init__.py'), '__version__ = "2.3.4rc5"')
  t.match(read('plugins/docs/deployment/helm/Chart.yaml'), 'appVersion: "2.3.4-rc.5"')
  t.match(read('README.md'), /This is\s2\.3\.4-rc\.5/)
  t.equal(read('CHANGELOG.md'), changes, 'a release candidate is no release')
  t.match(version(folder, '2.3.4'), { status: 0 })
  t.equal(read('CHANGELOG.md'), '# Changelog\n\n## 2.3.4\n\nChanges since 2.3.3.\n')
  for (const wrong of ['v2.3.4', '2.3', '2.3.4-beta']) t.match(version(folder, wrong), { status: 1, stderr: wrong })
  for (const name of new Set(places)) {
    const text = read(name)
    writeFileSync(join(folder, name), text.replace('2.3.4', '2.3.5'))
    t.match(version(folder), { status: 1, stderr: name === 'package.json' ? 'has 2.3.5' : name }, name)
    writeFileSync(join(folder, name), text)
  }
})

t.test('a released version is named as released', t => {
  // A tag publishes whatever these documents say.
  if (!own.version.includes('-')) {
    t.notMatch(readFileSync('README.md', 'utf8'), /first release|been released yet/)
    t.notMatch(readFileSync('.github/SECURITY.md', 'utf8'), 'Until 1.0.0 is released')
    t.match(readFileSync('CHANGELOG.md', 'utf8'), `\n## ${own.version}\n`)
  } else t.match(readFileSync('CHANGELOG.md', 'utf8'), '\n## Unreleased\n')
  t.end()
})

/** Returns the files of a folder, or the file itself. */
function filesIn(name: string): string[] {
  if (statSync(name).isFile()) return [name]
  return readdirSync(name, { recursive: true, encoding: 'utf8' }).map(each => join(name, each))
}

/** Converts `@scope/name/path` to `@scope/name`. */
function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
}
