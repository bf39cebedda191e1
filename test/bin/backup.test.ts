/** Tests backups through files and pipes. test/lib/moving/backup tests their contents. */
import { once } from 'node:events'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliDecompressSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { ingestBody, span } from '../fixtures/bodies/bodies.ts'
import { testDatabase } from '../fixtures/database/database.ts'
import { testFolder } from '../fixtures/folder.ts'
import {
  configurationFor,
  jsonHere,
  runHere,
  runSpoor,
  runWith,
  serve,
  start,
  tryKey
} from '../fixtures/service/spoor.ts'
import { until } from '../fixtures/until.ts'

const SIZE = { traces: 40, spans: 40, projects: 1, keys: 1 }

/** Creates an instance that all tests back up and no test changes. */
async function makeInstance() {
  const env = configurationFor(await testDatabase(t))
  const folder = await testFolder(t)
  await runHere(['account', 'create', 'owner'], env)
  await runHere(['project', 'create', 'default'], env)
  const { key } = await jsonHere(['key', 'create', '--project', 'default'], env)
  const lines = Array.from({ length: SIZE.traces }, (_, n) => {
    const { spans, ...trace } = ingestBody({ spans: [span()], input: String(n).repeat(50_000) }).trace
    return JSON.stringify({ trace, spans })
  })
  const traces = join(folder, 'traces.ndjson')
  await writeFile(traces, lines.join('\n'))
  await runHere(['import', '--project', 'default', traces], env)
  return { env, traces, key: key as string }
}
const { env, traces, key } = await makeInstance()

/** Creates a folder for one test. Also returns the path of a backup file in the folder. */
async function makeRoom(t: Test) {
  const folder = await testFolder(t)
  return { folder, file: join(folder, 'spoor.backup') }
}

t.test('a backup file is private, verified and restored', async t => {
  const { file } = await makeRoom(t)
  t.match(await runHere(['backup', file], env), {
    code: 0,
    out: /^wrote .*spoor\.backup: 1 project, 40 traces, 40 spans, 0 scores, 1 key and 0 users\n$/
  })
  t.equal((await stat(file)).mode & 0o777, 0o600)
  t.match(await runHere(['backup', file], env), { code: 1, err: /exists: use another name, or add --force/ })
  t.match(await jsonHere(['backup', '--force', file], env), { file, ...SIZE }, 'replacing the previous one')
  t.match(await jsonHere(['backup', '--verify', file]), SIZE)
  t.match(await runHere(['backup', '--verify', file]), { code: 0, out: /^a complete backup: 1 project, 40 traces/ })

  const copy = configurationFor(await testDatabase(t))
  t.match(await runHere(['restore', file], copy), {
    code: 0,
    out: /^restored, read back and found identical: 1 project, 40 traces.*\.\nThe keys work as before\.\n$/
  })
  const exported = (env: NodeJS.ProcessEnv) => runHere(['export', '--project', 'default'], env)
  t.same(await exported(copy), await exported(env))
  const { address } = await serve(t, copy)
  t.equal(await tryKey(address, key), 200)
  t.match(await runHere(['restore', file], copy), { code: 1, err: /has already been restored into this database/ })

  const bytes = brotliDecompressSync(await readFile(file))
  for (const [name, packed] of [
    ['plain', bytes],
    ['gzip', gzipSync(bytes)]
  ] as const) {
    await writeFile(file, packed)
    t.match(await jsonHere(['backup', '--verify', file]), SIZE, name)
  }
})

t.test('backup --keep names its files by time, and deletes all but the newest', async t => {
  const { folder } = await makeRoom(t)
  const old = ['spoor-2026-01-01T030000Z.backup', 'spoor-2026-01-02T030000Z.backup']
  for (const name of [...old, 'mine.backup']) await writeFile(join(folder, name), '')
  const { file, deleted } = await jsonHere(['backup', '--keep', '2', folder], env)
  t.same(deleted, old.slice(0, 1))
  t.match(await jsonHere(['backup', '--verify', file]), SIZE)
  t.same((await readdir(folder)).sort(), ['mine.backup', old[1], file.slice(folder.length + 1)].sort())
  t.match(await runHere(['backup', '--keep', '0', folder], env), { code: 2, err: /--keep must be a number from 1/ })
  t.match(await runHere(['backup', '--keep', '2', file], env), { code: 1, err: /is not a folder/ })
  t.match(await runHere(['backup', folder], env), { code: 1, err: /is a folder: specify a file, or add --keep N/ })
  t.match(await runHere(['status', '--no-server'], env), { out: /^backup +(?:now|\d+ seconds ago)/m })
})

t.test('a project is restored next to the existing one', async t => {
  const { file } = await makeRoom(t)
  const copy = configurationFor(await testDatabase(t))
  await runHere(['backup', file], env)
  await runHere(['restore', file], copy)
  t.match(await runHere(['restore', file, '--project', 'default', '--as', 'old'], copy), {
    code: 0,
    out: /project old, with 40 traces, 40 spans, 0 scores and 0 keys\.\nThese keys already exist in this database/
  })
  const exported = (project: string) => runHere(['export', '--project', project], copy)
  t.same(await exported('old'), await exported('default'))
})

t.test('a backup goes through a pipe into another database', async t => {
  const copy = configurationFor(await testDatabase(t))
  const from = start(['backup', '-'], env)
  const to = start(['restore', '--json', '-'], { ...copy, KEY_DIGEST_SECRET: 'another secret than that' })
  let err = ''
  let out = ''
  let said = ''
  from.stderr.on('data', chunk => (err += chunk))
  to.stdout.on('data', chunk => (out += chunk))
  to.stderr.on('data', chunk => (said += chunk))
  from.stdout.pipe(to.stdin)
  const [[code], [other]] = await Promise.all([once(from, 'close'), once(to, 'close')])
  t.same([code, other], [0, 0], said)
  t.match(err, /wrote a backup: 1 project, 40 traces/)
  t.match(JSON.parse(out), { ...SIZE, otherSecret: true })
  t.match(await runHere(['status'], copy), { out: /./ })
})

t.test('an encrypted backup is recognised, and its decrypted bytes are restored from a pipe', async t => {
  const { folder, file } = await makeRoom(t)
  await runHere(['backup', file], env)
  // The first bytes of GnuPG's files: a session key encrypted with a passphrase or a public key, and armor.
  const marks = [[0x8c, 0x0d, 0x04], [0x85, 0x01, 0x0c], [...Buffer.from('-----BEGIN PGP MESSAGE-----\n')]]
  for (const mark of marks) {
    const encrypted = join(folder, 'encrypted')
    await writeFile(encrypted, Buffer.concat([Buffer.from(mark), Buffer.alloc(300, 7)]))
    t.match(await runHere(['restore', encrypted], configurationFor(await testDatabase(t))), {
      code: 1,
      err: /encrypted with GnuPG: decrypt it in a pipe, such as `gpg --decrypt FILE \| spoor restore -`/
    })
  }
  t.match(await runWith(await readFile(file), ['restore', '-'], configurationFor(await testDatabase(t))), {
    code: 0,
    out: /^restored, read back and found identical: 1 project, 40 traces/
  })
  for (const start of ['age-encryption.org/v1\n-> X25519 k', '-----BEGIN AGE ENCRYPTED FILE-----\n']) {
    await writeFile(file, start)
    t.match(await runHere(['backup', '--verify', file]), { code: 1, err: /encrypted with age: .*`age --decrypt/ })
  }
  // A program that has no key writes nothing.
  const none = { DATA_DIR: join(folder, 'none') }
  t.match(await runWith('', ['restore', '-'], none), {
    code: 1,
    err: /the backup is empty: if another program decrypts/
  })
  t.notOk((await readdir(folder)).includes('none'), 'no database is created for it')
})

t.test('an interrupted backup leaves no file that looks complete', async t => {
  const { folder, file } = await makeRoom(t)
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGKILL', null]
  ] as const) {
    const child = start(['backup', '--force', file], env)
    const closing = once(child, 'close')
    await until(async () => (await readdir(folder)).includes('spoor.backup.partial') || child.exitCode !== null)
    child.kill(signal)
    const [ended] = await closing
    // On a fast computer, the backup may be complete before the signal arrives.
    if (ended === 0) continue
    t.equal(ended, code)
    // If the command was stopped between its last step and its exit, the backup is complete.
    if ((await readdir(folder)).includes('spoor.backup')) {
      t.match(await runHere(['backup', '--verify', file], env), { code: 0 }, signal)
    }
  }
  t.match(await runHere(['backup', '--force', file], env), { code: 0 })
  t.notOk((await readdir(folder)).includes('spoor.backup.partial'), 'leftovers go')
})

t.test('refusals are one line on stderr', async t => {
  const { folder, file } = await makeRoom(t)
  await runHere(['backup', file], env)
  const bytes = await readFile(file)
  const cut = join(folder, 'cut.backup')
  await writeFile(cut, bytes.subarray(0, bytes.length - 100))
  const none = { DATA_DIR: join(folder, 'none') }
  const refused: [string[], number, RegExp, NodeJS.ProcessEnv?][] = [
    [['backup'], 2, /FILE is missing/],
    [['backup', join(folder, 'no', 'where')], 1, /cannot write .*where\.partial: there is no such folder$/m],
    [['backup', '--verify', cut], 1, /the backup is damaged: it cannot be unpacked/],
    [['backup', '--verify', traces], 1, /this is not a backup/],
    [['backup', '--verify', folder], 1, /cannot read .*: it is a folder/],
    [['restore', cut], 1, /the backup is damaged/, none],
    [['restore', join(folder, 'missing')], 1, /there is no such file/, none],
    [['restore', file], 1, /is not empty \(projects: 1\): restore into a new database/],
    [['restore', '--into', file], 1, /the slug default is already used.*add `--project SLUG`/],
    [
      ['restore', '--project', 'default', file],
      1,
      /the slug default is already used by another project here: choose another/
    ],
    [['restore', '--project', 'none', file], 2, /the backup has no project "none": it contains default/],
    [['restore', '--project', 'default', '--into', file], 2, /--into and --project cannot be combined/],
    [['restore', '--project', 'default', '--as', 'No Slug', file], 2, /the slug must be .* with --as$/m],
    [['restore', '--as', 'other', file], 2, /--as and --account need --project/]
  ]
  for (const [args, code, message, more] of refused) {
    const result = await runHere(args, more ?? env)
    t.match(result, { code, out: '', err: message }, args.join(' '))
    t.match(result.err, /^spoor: [^\n]+\n$/, 'in one line')
  }
  t.notOk((await readdir(folder)).includes('none'), 'a rejected restore creates no database')
  t.match(await runSpoor(['backup', '--help']), { code: 0, out: /Back up an entire instance/ })
})
