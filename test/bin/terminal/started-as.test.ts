import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { commands } from '../../../bin/commands/index.ts'
import { commandHelp } from '../../../bin/terminal/help.ts'
import { nameInExample, startedAs } from '../../../bin/terminal/started-as.ts'
import { welcome } from '../../../bin/terminal/welcome.ts'
import { nameCommands } from '../../../lib/command-names.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { SPOOR } from '../../fixtures/service/spoor.ts'

const run = promisify(execFile)

t.test('messages print commands as spoor was started', async t => {
  const folder = await testFolder(t)
  const place = async (...names: string[]) => {
    const file = join(folder, ...names)
    await mkdir(join(file, '..'), { recursive: true })
    await symlink(SPOOR, file)
    return file
  }
  const global = await place('usr', 'bin', 'spoor')
  const prefixed = await place('opt', 'spoor', 'node_modules', '.bin', 'spoor')
  const spaced = await place('my programs', 'spoor')
  const fetched = await place('_npx', '0a1b', 'node_modules', '.bin', 'spoor')
  const packages = async (...names: string[]) =>
    writeFile(join(folder, '_npx', '0a1b', 'package.json'), JSON.stringify({ _npx: { packages: names } }))

  // The archive with its own Node, with the launcher that .ci/tarball writes.
  const archive = join(folder, 'archive')
  const launcher = join(archive, 'bin', 'spoor')
  await mkdir(join(archive, 'bin'), { recursive: true })
  await symlink(process.cwd(), join(archive, 'app'))
  await symlink(process.execPath, join(archive, 'bin', 'node'))
  const [, text = ''] = /^cat > \S+ <<'EOF'\n([\s\S]*?)^EOF$/m.exec(await readFile('.ci/tarball', 'utf8')) ?? []
  await writeFile(launcher, text)
  await chmod(launcher, 0o755)
  await mkdir(join(folder, 'local'))
  await symlink(launcher, join(folder, 'local', 'spoor'))

  const PATH = '/usr/bin:/bin'
  const here = process.cwd()
  const local = join(folder, 'opt/spoor')
  const inArchive = join(archive, 'app/build/bin/spoor.js')
  const container = { SPOOR_COMMAND: 'docker compose exec spoor spoor', PATH: `${join(folder, 'usr/bin')}:${PATH}` }
  const cases: [how: string, script: string, env: Record<string, string>, cwd: string, command: string][] = [
    ['a clone', SPOOR, {}, here, 'node build/bin/spoor.js'],
    ['a clone, from its own folder of programs', SPOOR, {}, join(here, 'build/bin'), `node ${SPOOR}`],
    ['a clone, from elsewhere', SPOOR, {}, folder, `node ${SPOOR}`],
    ['npm start in a clone', SPOOR, { npm_command: 'run-script' }, here, 'npx spoor'],
    ['a global installation', global, { PATH: `${join(folder, 'usr/bin')}:${PATH}` }, folder, 'spoor'],
    ['the same, not in PATH', global, {}, '/', global],
    ['a prefix', prefixed, {}, '/', prefixed],
    ['a project that depends on it', prefixed, {}, local, 'node_modules/.bin/spoor'],
    ['a path with spaces', spaced, {}, '/', `'${spaced}'`],
    // npm adds this folder to the PATH of its scripts, but not to the shell's.
    ['npx in a project', prefixed, { npm_command: 'exec', PATH: `${local}/node_modules/.bin` }, local, 'npx spoor'],
    ['the archive', inArchive, {}, '/', launcher],
    ['the archive, linked into PATH', inArchive, { PATH: `${join(folder, 'local')}:${PATH}` }, '/', 'spoor'],
    ['a container', global, container, '/', 'docker compose exec spoor spoor']
  ]
  for (const [how, script, env, cwd, command] of cases) {
    t.equal(startedAs(script, { PATH, ...env }, cwd).command, command, how)
  }
  for (const name of ['spoor', 'spoor@1.0.0', '/tmp/spoor-1.0.0.tgz', local]) {
    await packages(name)
    t.equal(startedAs(fetched, { npm_command: 'exec' }, '/tmp').command, `npx ${name}`)
  }
  t.equal(startedAs(fetched, { npm_command: 'exec' }, join(local, 'test')).command, 'npx spoor', 'npx in a clone')
  t.equal(startedAs(fetched.replace('0a1b', 'gone'), {}, '/').command, 'npx spoor')

  const processes: [program: string, words: string[], env: Record<string, string>, command: string][] = [
    [process.execPath, [SPOOR], {}, `node ${SPOOR}`],
    [process.execPath, [prefixed], {}, prefixed],
    ['spoor', [], { PATH: `${join(folder, 'local')}:${PATH}` }, 'spoor'],
    [process.execPath, [global], container, 'docker compose exec spoor spoor']
  ]
  for (const [program, words, env, command] of processes) {
    const options = { cwd: '/', env: { PATH, ...env, DATA_DIR: join(folder, 'none') } }
    const help = await run(program, [...words, 'key', 'rotate', '--help'], options)
    t.match(help.stdout, `Usage: ${command} key rotate KEYID`)
    t.match(help.stdout, `\n  ${command} key rotate `, 'an example')
    const failed = await run(program, [...words, 'project', 'list'], options).catch(error => error)
    t.match(failed, { code: 1, stderr: `start a server with \`${command} serve\`` }, 'an error')
  }
})

t.test('npx itself, in a clone', async t => {
  const { stdout } = await run('npx', ['--no', 'spoor', 'key', 'rotate', '--help'])
  t.match(stdout, 'Usage: npx spoor key rotate KEYID')
})

t.test('only commands are named, whatever stands around them', t => {
  const name = (text: string) => nameCommands(text, 'npx $& spoor')
  t.equal(
    name('see `spoor key list`, or run `spoor\nmigrate`'),
    'see `npx $& spoor key list`, or run `npx $& spoor\nmigrate`'
  )
  t.equal(name('`gpg -d FILE | spoor restore -`'), '`gpg -d FILE | npx $& spoor restore -`')
  t.equal(name('`DATA_DIR=copy A=b spoor restore x`'), '`DATA_DIR=copy A=b npx $& spoor restore x`')
  for (const same of ['spoor is at', '`spoor`', '`spoor-client`', '`a spoor b`', 'spoor key list'])
    t.equal(name(same), same)
  const example = (text: string) => nameInExample(text, 'npx spoor')
  t.equal(
    example('spoor backup - | DATABASE_URL=postgres://x/spoor spoor restore -'),
    'npx spoor backup - | DATABASE_URL=postgres://x/spoor npx spoor restore -'
  )
  t.equal(example('eval "$(spoor completion)"'), 'eval "$(npx spoor completion)"')
  t.equal(example("spoor watch --exec 'mail -s spoor ops'"), "npx spoor watch --exec 'mail -s spoor ops'")
  t.end()
})

t.test('no help of any command prints a command in another way', t => {
  for (const [name, command] of Object.entries(commands)) {
    const help = commandHelp(name, command, 'AS STARTED')
    const verbs = new Set(Object.keys(commands).map(each => each.split(' ')[0]!))
    const left = [...help.matchAll(/\bspoor ([a-z]+)/g)].filter(([, word]) => verbs.has(word!))
    t.same(
      left.map(([text]) => text),
      [],
      name
    )
  }
  t.end()
})

t.test('a container has its variables, other commands need them', t => {
  const start = { key: null, obstacle: null, dashboard: null, isLink: false }
  const env = { DATA_DIR: '/data/spoor' }
  const say = (command: string, hasEnvironment: boolean) =>
    welcome('http://a', 'here', start, env, { command, hasEnvironment })
  t.match(say('docker compose exec spoor spoor', true), /key: docker compose exec spoor spoor key create/)
  t.match(say('spoor', false), /key: DATA_DIR='\/data\/spoor' spoor key create/)
  t.end()
})
