import { addAbortSignal } from 'node:stream'
import type { Restored } from '../../../lib/moving/backup/restore-backup.ts'
import { command } from '../../command.ts'
import { type DatabaseSession, RESTORE_HEAP_MIB, withNewDatabase } from '../../database.ts'
import { openSource } from '../../terminal/input.ts'
import { interruptible } from '../../terminal/interrupt.ts'
import type { Progress } from '../../terminal/progress.ts'
import { count, tracesDone } from '../../terminal/words.ts'
import { describeCounts, verifyFile } from './backup.ts'

export default command({
  summary: 'Restore a backup into a new database, or add it to an existing database',
  parameters: ['FILE'],
  flags: {
    into: { type: 'boolean', about: 'add the backup to a database that has projects, with new ids' },
    'revoke-keys': {
      type: 'boolean',
      about: 'restore keys as revoked; needed with --into if KEY_DIGEST_SECRET differs'
    }
  },
  details: [
    'FILE is a file that `spoor backup` wrote, or - for stdin. A file is first read to its end, and rejected if it is',
    'incomplete. The backup is restored into the configured database; if necessary, an embedded database is created.',
    'Every trace is checked as in an import and read back, and must have the SHA-256 in the backup. Keys, passwords',
    'and memberships are restored last. Keys keep working if KEY_DIGEST_SECRET is the secret with which they were',
    'created.',
    '',
    'An interrupted restore continues when it is run again. With --into, accounts and projects get new ids, a user',
    'whose address already exists is kept, and the slugs of the backup must not be taken.'
  ].join('\n'),
  examples: [
    'restore spoor.backup',
    'restore --into spoor.backup',
    'backup - | DATABASE_URL=postgres://db.example.com/spoor KEY_DIGEST_SECRET=… spoor restore -'
  ],
  async run({ parameters: { FILE: file }, flags, env, print, progress }) {
    if (file !== '-') await verifyFile(file, progress)
    const restored = await withNewDatabase(env, session =>
      interruptible(signal => restoreFile(session, file, flags, progress, signal))
    )
    progress.clear()
    print({ ...restored.counts, resumed: restored.resumed, otherSecret: restored.otherSecret }, describe(restored))
  }
})

async function restoreFile(
  { database, config, log, systemUser }: DatabaseSession,
  file: string,
  { into, 'revoke-keys': revokeKeys }: { into: boolean; 'revoke-keys': boolean },
  progress: Progress,
  signal: AbortSignal
) {
  const [{ WritePath }, { restoreBackup }, { readBackup }, { Pool }] = await Promise.all([
    import('../../../lib/ingest/write-path.ts'),
    import('../../../lib/moving/backup/restore-backup.ts'),
    import('../../../lib/moving/backup/read-backup.ts'),
    import('../../../lib/database/pool.ts')
  ])
  const { stream } = await openSource(file)
  const lanes = { workers: config.workers, trialTraces: undefined, heapMiB: RESTORE_HEAP_MIB }
  const path = new WritePath(database, lanes, log)
  // One connection holds the lock, and the other does the work.
  const pool = new Pool(onClose => database.connect({ applicationName: 'restore', onClose }), { size: 2 })
  try {
    const lines = readBackup(addAbortSignal(signal, stream))
    return await restoreBackup({ pool, path, digestSecret: database.digestSecret }, lines, {
      into,
      revokeKeys,
      systemUser,
      signal,
      onProgress: (traces, expected) =>
        progress.show(seconds => `${tracesDone(traces, expected)}, ${count(Math.round(traces / seconds))}/s`)
    })
  } finally {
    await path.close()
    await pool.end(0)
  }
}

function describe({ counts, resumed, otherSecret }: Restored): string {
  const how = resumed ? ' (an earlier restore went on)' : ''
  const restored = `restored, and read back as it was: ${describeCounts(counts)}${how}.`
  if (counts.keys === 0) return restored
  const advice = otherSecret
    ? 'The keys were made with another KEY_DIGEST_SECRET: set that one, or revoke them with `spoor key replace-secret`.'
    : 'Keys are as they were.'
  return `${restored}\n${advice}`
}
