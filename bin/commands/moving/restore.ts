import { addAbortSignal, Readable } from 'node:stream'
import type { Restored } from '../../../lib/moving/backup/restore-backup.ts'
import { command, UsageError } from '../../command.ts'
import { type DatabaseSession, RESTORE_HEAP_MIB, withNewDatabase } from '../../database.ts'
import { openSource } from '../../terminal/input.ts'
import { interruptible } from '../../terminal/interrupt.ts'
import type { Progress } from '../../terminal/progress.ts'
import { bar, count, counted, tracesDone } from '../../terminal/words.ts'
import { describeCounts, verifyFile } from './backup.ts'

export default command({
  summary: 'Restore a backup into a new database, or add it to an existing database',
  parameters: ['FILE'],
  flags: {
    into: { type: 'boolean', about: 'add the backup, under new ids, to a database that already has projects' },
    project: {
      type: 'string',
      value: 'SLUG',
      about: 'restore only this project, into a database that already has others'
    },
    as: { type: 'string', value: 'S', about: 'with --project: the new slug; SLUG by default' },
    account: {
      type: 'string',
      value: 'ID',
      about: 'with --project: the account to restore into; its original account by default'
    },
    'revoke-keys': {
      type: 'boolean',
      about: 'restore keys as revoked; required if KEY_DIGEST_SECRET differs and the database has other keys'
    }
  },
  details: [
    'FILE is a file from `spoor backup`, or - for stdin. The file is first read to the end, and rejected if it is',
    'incomplete. The backup is restored into the configured database; an embedded database is created if necessary.',
    'Every trace is validated as in an import, then read back and compared with the SHA-256 in the backup. Keys,',
    'passwords and memberships are restored last. Keys keep working if KEY_DIGEST_SECRET is the secret that they',
    'were created with.',
    '',
    'To continue an interrupted restore, run it again. With --into, accounts and projects get new ids, existing users',
    "are kept, and none of the backup's slugs may already be in use.",
    '',
    '--project brings back a deleted project, with its traces, scores, keys, views and prices. Other projects stay',
    'unchanged. Until the restore is complete, the project is called SLUG-restoring and has no keys. To restore an',
    'older state alongside the current project, add --as; existing keys stay with their project.'
  ].join('\n'),
  examples: [
    'restore spoor.backup',
    'restore --into spoor.backup',
    'restore spoor.backup --project evals',
    'restore spoor.backup --project evals --as evals-in-may',
    'backup - | DATABASE_URL=postgres://db.example.com/spoor KEY_DIGEST_SECRET=… spoor restore -'
  ],
  async run({ parameters: { FILE: file }, flags, env, print, progress }) {
    const { project, into, as, account } = flags
    if (project === undefined && (as ?? account) !== undefined)
      throw new UsageError('--as and --account need --project')
    if (project !== undefined && into) throw new UsageError('--into and --project cannot be combined')
    if (as !== undefined) {
      // Loaded here because --help does not need this module.
      const { checkSlug } = await import('../../../lib/admin/projects.ts')
      checkSlug(as, '--as')
    }
    const source = file === '-' ? await openStdin() : await openVerified(file, progress)
    const restored = await withNewDatabase(env, session =>
      interruptible(signal => restoreFile(session, source, flags, progress, signal))
    )
    progress.clear()
    const { counts, ...others } = restored
    print({ ...counts, ...others }, describe(restored))
  }
})

/** Waits for the first bytes, so that a program that fails to decrypt a backup leaves no new database behind. */
async function openStdin(): Promise<Readable> {
  const { beginBackup } = await import('../../../lib/moving/backup/whole-file.ts')
  const { whole } = await beginBackup((await openSource('-')).stream)
  return Readable.from(whole, { objectMode: false })
}

/** Reads the file to its end before anything is restored. A file without a valid seal is unpacked as well. */
async function openVerified(file: string, progress: Progress): Promise<Readable> {
  const { hasValidSeal } = await import('../../../lib/moving/backup/seal.ts')
  const onRead = (read: number, length: number) => progress.show(() => `${bar(read, length)}  verifying`)
  if (await hasValidSeal(file, onRead)) progress.clear()
  else await verifyFile(file, progress)
  return (await openSource(file)).stream
}

interface RestoreFlags extends Readonly<Record<'project' | 'as' | 'account', string | undefined>> {
  readonly into: boolean
  readonly 'revoke-keys': boolean
}

async function restoreFile(
  { database, config, log, systemUser }: DatabaseSession,
  stream: Readable,
  { into, 'revoke-keys': revokeKeys, project: slug, as, account }: RestoreFlags,
  progress: Progress,
  signal: AbortSignal
) {
  const [{ WritePath }, { restoreBackup }, { readOnThread }, { Pool }] = await Promise.all([
    import('../../../lib/ingest/write-path.ts'),
    import('../../../lib/moving/backup/restore-backup.ts'),
    import('../../../lib/moving/backup/reading-thread.ts'),
    import('../../../lib/database/pool.ts')
  ])
  const lanes = { workers: config.workers, trialTraces: undefined, heapMiB: RESTORE_HEAP_MIB, asyncCommit: true }
  const path = new WritePath(database, lanes, log)
  // One connection holds the lock, and the other does the work.
  const pool = new Pool(onClose => database.connect({ applicationName: 'restore', onClose }), { size: 2 })
  try {
    const lines = readOnThread(addAbortSignal(signal, stream), slug)
    return await restoreBackup(
      { pool, path, digestSecret: database.digestSecret, previousSecret: database.previousSecret },
      lines,
      {
        into,
        revokeKeys,
        ...(slug !== undefined && { project: { slug, as, account } }),
        systemUser,
        signal,
        onProgress: (traces, expected) =>
          progress.show(seconds => {
            const done = expected === undefined ? counted(traces, 'trace') : tracesDone(traces, expected)
            return `${done}, ${count(Math.round(traces / seconds))}/s`
          })
      }
    )
  } finally {
    await path.close()
    await pool.end(0)
  }
}

function describe({ counts, resumed, otherSecret, project, keptKeys = [] }: Restored): string {
  const how = resumed ? ', continuing an earlier restore' : ''
  const what = project === undefined ? describeCounts(counts) : describeProjectCounts(project, counts)
  const restored = `restored, read back and found identical: ${what}${how}.`
  const kept = keptKeys.length === 0 ? '' : `\n${KEPT}: ${keptKeys.join(', ')}.`
  if (counts.keys === 0) return `${restored}${kept}`
  const advice = otherSecret
    ? 'The keys need the KEY_DIGEST_SECRET they were created with: set it, or run `spoor key replace-secret`.'
    : 'The keys work as before.'
  return `${restored}\n${advice}${kept}`
}

const KEPT = 'These keys already exist in this database and stay with their project'

function describeProjectCounts(project: string, { traces, spans, scores, keys }: Restored['counts']): string {
  const recorded = `${counted(traces, 'trace')}, ${counted(spans, 'span')}, ${counted(scores, 'score')}`
  return `project ${project}, with ${recorded} and ${counted(keys, 'key')}`
}
