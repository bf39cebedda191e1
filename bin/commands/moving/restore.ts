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
  summary: 'Read a backup into a new database, or beside what is in one',
  parameters: ['FILE'],
  flags: {
    into: { type: 'boolean', about: 'beside what is in the database, under other numbers' },
    'revoke-keys': { type: 'boolean', about: 'restore the keys revoked: for --into, where they have another secret' }
  },
  details: [
    'FILE is what `spoor backup` wrote, or - for stdin. A file is read to its end first, and refused if it is not whole.',
    'The database is the one that the configuration names; an embedded one is made if need be. Every trace is checked as on',
    'import and read back, and what is read must have the SHA-256 of the backup. Keys, passwords and memberships come last.',
    'Keys work as before where KEY_DIGEST_SECRET is the one that they were made with.',
    '',
    'A restore that was ended in the middle goes on when it is run again. With --into, accounts and projects get new numbers,',
    'a user whose address is known stays the one who is there, and a slug must not be taken.'
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
