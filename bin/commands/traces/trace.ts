import type { Pruned, PrunePlan } from '../../../lib/admin/upkeep/pruning.ts'
import { command, UsageError } from '../../command.ts'
import { withDatabase } from '../../database.ts'
import { interruptible } from '../../terminal/interrupt.ts'
import { count, counted, size, tracesDone } from '../../terminal/words.ts'
import { CONDITION_FLAGS, readConditions } from './conditions.ts'

export const remove = command({
  summary: 'Delete traces of a project that are old or meet other conditions',
  flags: {
    project: { type: 'string', value: 'SLUG', required: true, about: 'the project whose traces to delete' },
    ...CONDITION_FLAGS,
    'dry-run': { type: 'boolean', about: 'only count the traces; the default' },
    apply: { type: 'boolean', about: 'delete the traces with all their data' }
  },
  details: [
    'A trace must meet all conditions, and at least one condition is required. The command works in small batches',
    'beside a running server, and the totals are correct after each batch. If it is interrupted, finished batches',
    'stay, and running it again does the rest. Traces are never deleted automatically. To limit their age, run this',
    'command every night with cron.',
    '',
    'PostgreSQL reuses the space of deleted rows for new rows. Only free space at the end of its files is returned to',
    'the disk; `spoor compact` returns the rest.'
  ].join('\n'),
  examples: [
    'trace delete --project default --before 90d',
    'trace delete --project default --before 2026-01-01T00:00:00Z --environment staging --apply',
    'trace delete --project default --before 30d --status error --tag nightly --apply --json'
  ],
  async run({ flags, env, print, progress }) {
    const { project, apply, 'dry-run': dryRun } = flags
    if (apply && dryRun) throw new UsageError('--apply and --dry-run cannot be combined')
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
        const advice = traces > 0 ? ' Nothing was changed: add --apply to delete them.' : ''
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
  const left = kept === 0 ? '' : ` ${counted(kept, 'trace')} kept changing and stayed: run the command again.`
  const room = traces === 0 ? '' : ` About ${size(reusable)} on disk can be reused, ${size(givenBack)} are given back.`
  return `deleted ${counted(traces, 'trace')} with ${counted(spans, 'span')}.${room}${left}`
}
