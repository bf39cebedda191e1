import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { commands } from '../../bin/commands/index.ts'
import { runHere, runSpoor } from '../fixtures/service/spoor.ts'

const BACKFILL = ['environment', 'backfill', '--project', 'a', '--environment', 'e']

t.test('spoor without arguments and NOUN help show the help', async t => {
  t.match(await runHere([]), { code: 0, out: /^spoor .* records traces[\s\S]*\n {2}serve / })
  t.match(await runHere(['key', 'help']), { code: 0, out: /Usage: spoor key <command>[\s\S]*key revoke/ })
})

t.test('commands that delete, replace or move stored data have --dry-run', async t => {
  const takesAway =
    /(?:^| )(?:delete|remove|revoke|run|recompute|backfill|compact|replace-secret|recount|migrate|upgrade)$/
  for (const [name, { usage }] of Object.entries(commands)) {
    if (takesAway.test(name) || 'apply' in usage.flags) t.ok('dry-run' in usage.flags, name)
    if (!('apply' in usage.flags)) continue
    const required = Object.entries(usage.flags).flatMap(([flag, spec]) => (spec.required ? [`--${flag}`, 'x'] : []))
    const result = await runHere([...name.split(' '), ...required, '--apply', '--dry-run'])
    t.match(result, { code: 2, err: /--apply and --dry-run cannot be combined/ }, name)
  }
})

t.test('an invalid command line is one line on stderr that lists the choices, with exit code 2', async t => {
  const wrong: [string[], RegExp][] = [
    [['sta\u009b\u202e\u2066tus'], /no command "sta\\u009b\\u202e\\u2066tus"/],
    [['sttaus'], /no command "sttaus"\. Did you mean status\?/],
    [['keys'], /Did you mean key\?/],
    [['ky', 'lst'], /Did you mean key list\?/],
    [['frobnicate'], /no command "frobnicate"\. Choose from serve, .*key set-environment/],
    [['key'], /which of key create, key list, key rotate/],
    [['key', 'frobnicate'], /no command "key frobnicate"\. Choose from key create/],
    [['--json', 'status'], /no command "--json"/],
    [['status', 'now'], /unexpected argument "now"; usage: spoor status/],
    [['status', '--frob'], /no flag "--frob"\. Choose from --no-server, --recount, --quiet, --json, --help/],
    [['serve', '--port', '80'], /--port must be set in the environment: `PORT=… spoor serve`/],
    [['status', '-x'], /no flag "-x"/],
    [['status', '--json=yes'], /--json.* does not take an argument/],
    [['key', 'create'], /--project is missing; usage: spoor key create --project SLUG/],
    [['key', 'create', '--project'], /--project.*argument missing/],
    [['key', 'create', '--projct', 'x'], /Did you mean --project\?/],
    [['key', 'create', '--project', 'a', '--project', 'b'], /--project is given twice/],
    [
      ['key', 'create', '--project', 'a', '--scopes', 'traces:write,admin'],
      /no scope "admin"\. Choose from traces:write/
    ],
    [['key', 'create', '--project', 'a', '--scopes', ''], /no scope ""/],
    [['key', 'create', '--project', 'a', '--expires', '2y'], /--expires must be one of 30d, 90d, 1y, never, not "2y"/],
    [['key', 'create', '--project', 'a', '--expires', 'toString'], /--expires must be one of/],
    [['key', 'rotate'], /KEYID is missing; usage: spoor key rotate KEYID/],
    [['key', 'set-environment', 'someKey'], /E is missing/],
    [['account', 'create', 'a', 'b'], /unexpected argument "b"/],
    [
      ['project', 'create', 'a', '--storage-limit', '10XB'],
      /--storage-limit must be a size of at least 1 byte, such as 5GB, not "10XB"/
    ],
    [['project', 'create', 'a', '--storage-limit', '0'], /--storage-limit must be/],
    [['project', 'create', 'a', '--storage-limit', '-1'], /--storage-limit must be .* at least 1 byte, .* not "-1"/],
    [['project', 'create', 'a', '--slug', '-x'], /--slug is followed by "-x": .* dash as --slug=-x; usage: /],
    [['project', 'create', '-1'], /no flag "-1"/],
    [[...BACKFILL, '--tag', ''], /--tag must be 1 to 64 characters, not ""/],
    [[...BACKFILL, '--tag', 'x'.repeat(65)], /--tag must be 1 to 64 characters/]
  ]
  for (const [args, message] of wrong) {
    const result = await runHere(args)
    t.match(result, { code: 2, out: '', err: message }, args.join(' '))
    t.match(result.err, /^spoor: [^\n]+\n$/, 'in one line')
  }
})

t.test('an invalid configuration is one line on stderr, with exit code 1', async t => {
  const wrong: [NodeJS.ProcessEnv, RegExp][] = [
    [{ PORT: 'http' }, /PORT must be a whole number/],
    [{ DATABASE_URL: 'mysql://127.0.0.1/' }, /DATABASE_URL must be an address/],
    [{ DATA_DIR: '/nowhere/at/all' }, /no database in \/nowhere\/at\/all: start a server with `spoor serve`/],
    [{ DATABASE_URL: 'postgres://127.0.0.1:1/none' }, /ECONNREFUSED/]
  ]
  for (const [env, message] of wrong) {
    const result = await runHere(['key', 'list', '--json'], env)
    t.match(result, { code: 1, out: '', err: message })
    t.match(result.err, /^spoor: [^\n]+\n$/, 'in one line')
  }
})

t.test('every level has help, without a database', async t => {
  const overview = await runHere(['--help'])
  t.match(overview, { code: 0, err: '' })
  const names = [...overview.out.matchAll(/^ {2}([a-z]+(?: [a-z-]+)?) {2,}\S/gm)].map(match => match[1]!)
  t.ok(names.includes('serve') && names.includes('key set-environment'))
  for (const name of names) {
    const help = await runHere([...name.split(' '), '--help'])
    t.match(help, { code: 0, err: '' })
    const text = new RegExp(`Usage: spoor ${name}[\\s\\S]*--json[\\s\\S]*--help[\\s\\S]*Examples:\n  spoor ${name}`)
    t.match(help.out, text, name)
  }
})

t.test('help accepts alternative spellings', async t => {
  const asked: [string[], RegExp][] = [
    [['help'], /Usage: spoor <command>/],
    [['-h'], /Usage: spoor <command>/],
    [['help', 'key'], /Usage: spoor key <command>[\s\S]*key create[\s\S]*key rotate/],
    [['key', '--help'], /Usage: spoor key <command>/],
    [['key', 'create', '--project', '-h'], /Usage: spoor key create/],
    [['help', 'key', 'rotate'], /Usage: spoor key rotate KEYID/],
    [['--version'], /^\d+\.\d+\.\d+(-rc\.\d+)?\n$/],
    [['-v'], /^\d+\.\d+\.\d+(-rc\.\d+)?\n$/],
    [['version'], /^\d+\.\d+\.\d+(-rc\.\d+)?\n$/]
  ]
  for (const [args, text] of asked) t.match(await runHere(args), { code: 0, out: text, err: '' }, args.join(' '))
  t.match(await runHere(['help', 'frobnicate']), { code: 2, out: '' })
})

t.test('the process exits with the code, and writes to the right stream', async t => {
  t.match(await runSpoor(['key', '--help']), { code: 0, out: /^spoor [\s\S]*key rotate/, err: '' })
  t.match(await runSpoor(['key', 'lst']), { code: 2, out: '', err: /^spoor: .*Did you mean key list\?.*\n$/ })
  t.match(await runSpoor(['status'], { PORT: 'http' }), { code: 1, out: '', err: /^spoor: PORT must be .*\n$/ })
})

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** Matches the imports that run when a file is loaded. Type imports and dynamic imports do not match. */
const LOADED = /^(?:import|export) (?!type )(?:[^'"]*? from )?'([^']+)'/gm

t.test('starting a command loads no package', async t => {
  const packages = new Map<string, string>()
  const seen = new Set<string>()
  const open = ['bin/spoor.ts', 'bin/command-line.ts', 'bin/commands/index.ts'].map(name => join(ROOT, name))
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(LOADED)) {
      if (name.startsWith('.')) open.push(join(dirname(file), name))
      else if (!name.startsWith('node:') && !name.startsWith('#')) packages.set(name, relative(ROOT, file))
    }
  }
  t.ok(seen.size > 20)
  t.same([...packages], [])
})
