import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { AdminError } from '../../../lib/admin-error.ts'
import type { BackupCounts } from '../../../lib/moving/backup/format.ts'
import { backupName, removeOutdated } from '../../../lib/moving/backup/kept-backups.ts'
import { command, UsageError } from '../../command.ts'
import { type DatabaseSession, withKnownSchema } from '../../database.ts'
import { openSource } from '../../terminal/input.ts'
import { interruptible } from '../../terminal/interrupt.ts'
import type { Progress } from '../../terminal/progress.ts'
import { bar, counted, size, tracesDone } from '../../terminal/words.ts'

export default command({
  summary: 'Back up an entire instance to one file',
  parameters: ['FILE'],
  flags: {
    verify: { type: 'boolean', about: 'only check that FILE is a complete backup; needs no database' },
    force: { type: 'boolean', about: 'overwrite FILE if it exists' },
    keep: {
      type: 'string',
      value: 'N',
      about: 'treat FILE as a folder: write a file named after the current time, and keep only the newest N such files'
    }
  },
  details: [
    'Writes accounts, projects, people, keys and all recorded data, as of a single point in time, to FILE, or to',
    'stdout if FILE is -. Servers keep running. The file is NDJSON, compressed with Brotli, and ends with counts and a',
    'SHA-256. It appears only once it is complete. Protect the file as you protect the database, because it contains',
    'key and password digests. It does not contain KEY_DIGEST_SECRET, which every key needs. Back up the secret',
    'separately (an embedded database keeps it in DATA_DIR/key-digest-secret).',
    '',
    'A backup can also be restored into another database or PostgreSQL version: see `restore`.'
  ].join('\n'),
  examples: [
    'backup spoor.backup',
    'backup - | ssh other "cat > spoor.backup"',
    'backup --verify spoor.backup',
    'backup --keep 7 /var/backups'
  ],
  async run({ parameters: { FILE: given }, flags, env, print, stream, progress }) {
    if (flags.verify) {
      if (flags.keep !== undefined || flags.force) throw new UsageError('--verify cannot be combined with other flags')
      const counts = await verifyFile(given, progress)
      print(counts, `a complete backup: ${describeCounts(counts)}`)
      return
    }
    const keep = parseKeep(flags.keep)
    const file = keep === undefined ? given : join(given, backupName(new Date()))
    if (keep !== undefined) await requireFolder(given)
    else if (given !== '-' && !flags.force) await refuseExisting(given)
    const send = file === '-' ? stream : undefined
    const counts = await withKnownSchema(env, session =>
      interruptible(signal => writeBackup(session, file, send, progress, signal))
    )
    progress.clear()
    if (file === '-') {
      progress.say(`wrote a backup: ${describeCounts(counts)}`)
      return
    }
    const deleted = keep === undefined ? undefined : await removeOutdated(given, keep)
    const more =
      deleted === undefined || deleted.length === 0 ? '' : `; deleted ${counted(deleted.length, 'older backup')}`
    print({ file, ...counts, ...(deleted && { deleted }) }, `wrote ${file}: ${describeCounts(counts)}${more}`)
  }
})

function parseKeep(text: string | undefined): number | undefined {
  if (text === undefined || /^[1-9]\d{0,3}$/.test(text)) return text === undefined ? undefined : Number(text)
  throw new UsageError(`--keep must be a number from 1 to 9999, not ${JSON.stringify(text)}`)
}

async function refuseExisting(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined)
  if (found?.isDirectory()) throw new AdminError(`${file} is a folder: specify a file, or add --keep N`)
  // A device such as /dev/null, or a pipe, is not overwritten.
  if (found?.isFile()) throw new AdminError(`${file} exists: use another name, or add --force to overwrite it`)
}

async function requireFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined)
  if (!found?.isDirectory())
    throw new AdminError(`${folder} is not a folder: with --keep, FILE must be an existing folder`)
}

async function writeBackup(
  { database, sql }: DatabaseSession,
  file: string,
  send: ((bytes: Uint8Array) => Promise<void>) | undefined,
  progress: Progress,
  signal: AbortSignal
): Promise<BackupCounts> {
  const [{ backUp }, { streamPacked, writeWholeFile }, { readSchemaState }, { Pool }, { writeAudit }] =
    await Promise.all([
      import('../../../lib/moving/backup/write-backup.ts'),
      import('../../../lib/moving/backup/whole-file.ts'),
      import('../../../lib/database/migrate.ts'),
      import('../../../lib/database/pool.ts'),
      import('../../../lib/store/audit.ts')
    ])
  const { version } = await readSchemaState(sql)
  const pool = new Pool(onClose => database.connect({ applicationName: 'backup', onClose }), { size: 1 })
  let written = 0
  async function* watched(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of bytes) {
      written += chunk.byteLength
      yield chunk
    }
  }
  const write = (bytes: AsyncIterable<Buffer>) =>
    send ? streamPacked(watched(bytes), send, signal) : writeWholeFile(file, watched(bytes), signal)
  try {
    const counts = await backUp(pool, version, write, (counts, expected) =>
      progress.show(seconds => describeProgress(counts.traces, expected.traces, written, seconds))
    )
    const detail = { traces: counts.traces, bytes: written, toStdout: send !== undefined }
    // The backup is complete even if a standby or a role that only reads cannot record it.
    await writeAudit(sql, { by: null, action: 'backup', detail }).catch(() => {})
    return counts
  } catch (error) {
    if (signal.aborted) throw new AdminError(`interrupted: ${send ? 'the output is incomplete' : 'wrote nothing'}`)
    throw error
  } finally {
    await pool.end(0)
  }
}

/** Reads a backup to its end. Throws an AdminError if the backup is incomplete or damaged. */
export async function verifyFile(file: string, progress: Progress): Promise<BackupCounts> {
  const { readBackup } = await import('../../../lib/moving/backup/read-backup.ts')
  const { stream, length } = await openSource(file)
  let read = 0
  async function* counting(): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream) {
      read += chunk.byteLength
      yield chunk
    }
  }
  for await (const line of readBackup(counting())) {
    progress.show(() => `${length === undefined ? size(read) : bar(read, length)}  verifying`)
    if (line.name !== 'end') continue
    progress.clear()
    return line.value.counts
  }
  throw new AdminError('the backup is incomplete')
}

function describeProgress(traces: number, expected: number, bytes: number, seconds: number): string {
  const rates = `${size(bytes)}, ${size(Math.round(bytes / seconds))}/s`
  return `${tracesDone(traces, expected)}, ${rates}`
}

export function describeCounts({ projects, keys, users, traces, spans, scores }: BackupCounts): string {
  const all = [
    counted(projects, 'project'),
    counted(traces, 'trace'),
    counted(spans, 'span'),
    counted(scores, 'score'),
    counted(keys, 'key'),
    counted(users, 'user')
  ]
  return `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`
}
