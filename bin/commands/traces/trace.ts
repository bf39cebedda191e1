import type { Pruned, PrunePlan } from '../../../lib/admin/upkeep/pruning.ts'
import { command, UsageError } from '../../command.ts'
import { withDatabase } from '../../database.ts'
import { interruptible } from '../../terminal/interrupt.ts'
import { count, counted, size, tracesDone } from '../../terminal/words.ts'
import { CONDITION_FLAGS, readConditions } from './conditions.ts'

export const remove = command({
  summary: 'Delete traces of a project that are old, or meet other conditions',
  flags: {
    project: { type: 'string', value: 'SLUG', required: true, about: 'the project whose traces are meant' },
    ...CONDITION_FLAGS,
    'dry-run': { type: 'boolean', about: 'only count; this is so unless --apply is given' },
    apply: { type: 'boolean', about: 'delete them, with all that is under them' }
  },
  details: [
    'Conditions combine: a trace must meet them all, and one at least must be given. It works in small batches while the',
    'server goes on, and the totals are right after each; what is deleted when it is interrupted stays deleted, and the same',
    'command does the rest. Nothing else deletes traces: for a limit of age, have cron run this every night.',
    '',
    'PostgreSQL keeps the room of deleted rows for new ones; only what is free at the end of its files goes back to the disk.'
  ].join('\n'),
  examples: [
    'trace delete --project default --before 90d',
    'trace delete --project default --before 2026-01-01T00:00:00Z --environment staging --apply',
    'trace delete --project default --before 30d --status error --tag nightly --apply --json'
  ],
  async run({ flags, env, print, progress }) {
    const { project, apply, 'dry-run': dryRun } = flags
    if (apply && dryRun) throw new UsageError('--apply and --dry-run contradict each other: give one of them')
    const request = { project, ...readConditions(flags) }
    await withDatabase(env, async ({ sql }) => {
      // Loaded here because --help does not need these modules.
      const [{ applyPruning, planPruning }, { reclaimRoom }, { measureDatabase }] = await Promise.all([
        import('../../../lib/admin/upkeep/pruning.ts'),
        import('../../../lib/store/trace/pruning.ts'),
        import('../../../lib/store/server/properties.ts')
      ])
      const plan = await planPruning(sql, request)
      const { traces, spans, bytes } = plan
      if (!apply) {
        const advice = traces > 0 ? ' Nothing has changed: give --apply to delete them.' : ''
        print({ traces, spans, bytes, applied: false }, `${describePlan(plan)}.${advice}`)
        return
      }
      progress.say(describePlan(plan))
      const onProgress = (pruned: Pruned) =>
        progress.show(
          seconds => `${tracesDone(pruned.traces, traces)}, ${count(Math.round(pruned.traces / seconds))}/s`
        )
      const pruned = await interruptible(signal => applyPruning(sql, plan, { onProgress, signal }))
      const before = await measureDatabase(sql)
      progress.show(() => 'finding what can be reused')
      if (pruned.traces > 0) await reclaimRoom(sql)
      const givenBack = Math.max(0, (before ?? 0) - ((await measureDatabase(sql)) ?? 0))
      progress.clear()
      const { storedBytes, ...counts } = pruned
      const reusable = Math.max(0, storedBytes - givenBack)
      print(
        { ...counts, reusableBytes: reusable, givenBackBytes: givenBack, applied: true },
        describePruned(pruned, reusable, givenBack)
      )
    })
  }
})

const describePlan = ({ traces, spans, bytes }: PrunePlan): string =>
  `${counted(traces, 'trace')} selected, with ${counted(spans, 'span')} (${size(bytes)})`

function describePruned({ traces, spans, kept }: Pruned, reusable: number, givenBack: number): string {
  const left = kept === 0 ? '' : ` ${counted(kept, 'trace')} changed all the while and stayed: run it again.`
  const room = traces === 0 ? '' : ` About ${size(reusable)} on disk can be reused, ${size(givenBack)} are given back.`
  return `deleted ${counted(traces, 'trace')} with ${counted(spans, 'span')}.${room}${left}`
}
