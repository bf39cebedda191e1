import fc from 'fast-check'
import t from 'tap'
import { AdminError } from '../../../../lib/admin-error.ts'
import { readBackup } from '../../../../lib/moving/backup/read-backup.ts'
import {
  backupOf,
  bytesOf,
  formerBackupOf,
  fullInstance,
  inPieces,
  linesOf
} from '../../../fixtures/database/backups.ts'
import { runs } from '../../../torture/orders.ts'

/** Reads a backup to its end. Returns the names of its lines. */
async function readAll(bytes: Buffer): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of readBackup(inPieces(bytes))) names.push(name)
  return names
}

/** Ways to corrupt a backup's lines, each with the expected error message. */
const spoiled: [string, (lines: string[]) => readonly string[], RegExp][] = [
  ['nothing', () => [], /^the backup is empty/],
  ['other JSON', () => ['{"a":1}'], /^this is not a backup/],
  ['no JSON', () => ['once upon a time'], /^this is not a backup/],
  ['an export', lines => lines.filter(line => line.startsWith('{"rows"')), /^this is not a backup/],
  ['without its end', lines => lines.slice(0, -1), /damaged: it is truncated: the line "end" is missing/],
  ['truncated in the head', lines => lines.slice(0, 4), /damaged: it is truncated/],
  ['truncated in the traces', lines => lines.slice(0, 20), /damaged: it is truncated/],
  ['without an account', lines => lines.filter(line => !line.startsWith('{"account"')), /damaged: /],
  ['without a checksum', lines => lines.filter(line => !line.startsWith('{"sum"')), /cannot follow/],
  [
    'without a trace',
    lines => {
      const at = lines.findIndex(line => line.startsWith('{"rows"'))
      return [...lines.slice(0, at), ...lines.slice(at + 1)]
    },
    /project 1 should have 19 traces, but has 16/
  ],
  ['twice', lines => [...lines, ...lines], /"backup", which cannot follow "end"/],
  [
    'with an additional line',
    lines => [...lines.slice(0, -1), '{"later":{}}', lines.at(-1)!],
    /is not a line that this version of spoor can read/
  ],
  [
    'with a changed trace',
    lines => lines.map(line => line.replace(/^(\{"rows":.*"spans":")(..)/, '$1//')),
    /do not match its checksum/
  ],
  [
    'with an invalid page',
    lines => lines.map(line => line.replace(/^\{"rows":\{"count":\d+,/, '{"rows":{"count":0,')),
    /line \d+ is not a page of traces/
  ],
  [
    'with a changed key',
    lines => lines.map(line => line.replace('"label":"revoked"', '"label":"valid"')),
    /do not match its checksum/
  ],
  [
    'with a number as a name',
    lines => lines.map(line => line.replace('"name":"owner"', '"name":7')),
    /line 2: name: must be a string/
  ],
  [
    'with an invalid slug',
    lines => lines.map(line => line.replace('"slug":"second"', '"slug":"../../x"')),
    /: slug: must be 1 to 64 lower-case letters, digits, hyphens or underscores/
  ],
  [
    'with escapes in a name',
    lines => lines.map(line => line.replace('"name":"owner"', '"name":"\\u001b[2J"')),
    /: name: must not contain control characters/
  ],
  [
    'with a name that is too long',
    lines => lines.map(line => line.replace('"name":"owner"', `"name":"${'x'.repeat(201)}"`)),
    /: name: must have at most 200 characters/
  ],
  [
    'with a description that is too long',
    lines => lines.map(line => line.replace('"description":"Second"', `"description":"${'x'.repeat(2001)}"`)),
    /: description: must have at most 2000 characters/
  ],
  [
    'with a view of a page without views',
    lines => lines.map(line => line.replace('"page":"overview"', '"page":"members"')),
    /: views\[\d\]\.page: must be one of traces, overview, scores/
  ],
  [
    'with a view that leads to another site',
    lines => lines.map(line => line.replace('"query":"?status=error"', '"query":"javascript:alert(1)"')),
    /: views\[\d\]\.query: must be empty, or begin with \?/
  ],
  [
    'with an invalid digest',
    lines => lines.map(line => line.replace(/"digest":"[0-9a-f]{64}"/, '"digest":"x"')),
    /: digest: must be 64 lower-case hexadecimal digits/
  ],
  [
    'with an invalid key id',
    lines => lines.map(line => line.replace(/^\{"key":\{"id":"/, '$&a b')),
    /: id: must be 1 to 64 letters, digits, hyphens or underscores/
  ],
  [
    'with an unknown action',
    lines => lines.map(line => line.replace(/"action":"/, '$&<script>')),
    /: action: must be lower-case words/
  ],
  [
    'with an action whose detail is not JSON',
    lines => lines.map(line => line.replace(/"detail":"\{/, '"detail":"{not ')),
    /act\.detail: must be JSON/
  ],
  [
    'of a later format',
    lines => [lines[0]!.replace('"format":2', '"format":3,"news":1'), ...lines.slice(1)],
    /update spoor/
  ]
]

t.test('an incomplete backup is rejected with a sentence', async t => {
  const lines = linesOf(await backupOf((await fullInstance(t)).database))
  t.equal((await readAll(bytesOf(lines))).at(-1), 'end', 'the unchanged backup is accepted')
  for (const [title, spoil, message] of spoiled) {
    const error = await readAll(bytesOf(spoil([...lines]))).catch(error => error)
    t.type(error, AdminError, title)
    t.match(error.message, message, title)
    t.notMatch(error.message, /\n/)
  }
})

t.test('a changed trace of a backup in format 1 does not match its project', async t => {
  const lines = linesOf(await formerBackupOf((await fullInstance(t)).database))
  t.equal((await readAll(bytesOf(lines))).at(-1), 'end')
  const changed = lines.map(line => line.replace('"name":"run 0"', '"name":"run 9"'))
  await t.rejects(readAll(bytesOf(changed)), { message: /traces of project 1 do not match their checksum/ })
})

t.test('changing any byte of a backup is detected', async t => {
  const backup = await backupOf((await fullInstance(t)).database)
  const property = fc.asyncProperty(fc.nat(backup.length - 1), fc.nat(255), async (at, byte) => {
    fc.pre(backup[at] !== byte)
    const changed = Buffer.from(backup)
    changed[at] = byte
    const error = await readAll(changed).then(
      () => undefined,
      error => error
    )
    // A changed byte may turn the last newline into other whitespace, which has no meaning.
    return error instanceof AdminError || at === backup.length - 1
  })
  await fc.assert(property, runs(100))
})
