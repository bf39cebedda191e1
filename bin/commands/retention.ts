import type { DescribedRetention, ExpiryPlan } from '../../lib/admin/retention.ts'
import type { Retention } from '../../lib/store/projects/retention.ts'
import { command, UsageError } from '../command.ts'
import { withDatabase } from '../database.ts'
import { interruptible } from '../terminal/interrupt.ts'
import { table } from '../terminal/table.ts'
import { parseDays } from '../terminal/times.ts'
import { counted, size, tracesDone } from '../terminal/words.ts'

export const retentionSet = command({
  summary: 'Set how long a project keeps its traces',
  parameters: ['PROJECT', 'AGE'],
  flags: {
    'keep-scored': { type: 'boolean', about: 'keep traces with a score regardless of their age' },
    'keep-tag': {
      type: 'string',
      value: 'T',
      repeats: true,
      about: 'keep traces with this tag regardless of their age; may be repeated'
    }
  },
  details: [
    'AGE is the number of days since a trace started, such as 90d. Setting a retention period deletes nothing: traces',
    'are deleted when `spoor retention run --apply` runs. The server never deletes traces by itself, so run that',
    'command every night, with cron or the systemd timer in the guide.'
  ].join('\n'),
  examples: ['retention set default 90d', 'retention set default 30d --keep-scored --keep-tag golden'],
  async run({ parameters: { PROJECT: project, AGE: age }, flags, env, print }) {
    const days = parseDays(age)
    if (days === undefined) throw new UsageError(`AGE must be a number of days such as 90d, not ${JSON.stringify(age)}`)
    const request = { days, keepsScored: flags['keep-scored'], keepsTags: flags['keep-tag'] ?? [] }
    const retention = await withDatabase(env, async ({ sql }) => {
      const { setRetention } = await import('../../lib/admin/retention.ts')
      return setRetention(sql, project, request)
    })
    const next = 'Nothing is deleted until `spoor retention run --apply` runs.'
    print(retention, `project ${project} keeps ${describeRetention(retention)}. ${next}`)
  }
})

export const retentionUnset = command({
  summary: "Keep a project's traces forever",
  parameters: ['PROJECT'],
  examples: ['retention unset default'],
  async run({ parameters: { PROJECT: project }, env, print }) {
    const changed = await withDatabase(env, async ({ sql }) => {
      const { unsetRetention } = await import('../../lib/admin/retention.ts')
      return unsetRetention(sql, project)
    })
    print({ project, changed }, `project ${project} keeps its traces forever${changed ? '' : ', as before'}`)
  }
})

export const retentionList = command({
  summary: 'List how long projects keep their traces',
  examples: ['retention list', 'retention list --json'],
  async run({ env, print }) {
    const retentions = await withDatabase(env, async ({ sql }) => {
      const { listRetentions } = await import('../../lib/admin/retention.ts')
      return listRetentions(sql)
    })
    print(retentions, retentionTable(retentions))
  }
})

export const retentionRun = command({
  summary: "Delete traces past their project's retention period",
  flags: {
    project: {
      type: 'string',
      value: 'SLUG',
      about: 'only this project; by default, every project with a retention period'
    },
    apply: { type: 'boolean', about: 'delete the traces with all their data' }
  },
  details: [
    'Deletes in small batches, so it can run while the server is running. If the command is interrupted, finished',
    'batches stay deleted; run it again to delete the rest. The audit log shows the number of deleted traces.'
  ].join('\n'),
  examples: ['retention run', 'retention run --apply', 'retention run --project default --apply --json'],
  async run({ flags, env, print, progress }) {
    const { project, apply } = flags
    await withDatabase(env, async ({ sql }) => {
      // Loaded here because --help does not need these modules.
      const [{ applyExpiry, planRetention }, { reclaimRoom }] = await Promise.all([
        import('../../lib/admin/retention.ts'),
        import('../../lib/store/trace/pruning.ts')
      ])
      const plans = await planRetention(sql, project)
      if (!apply) {
        const isEmpty = plans.every(({ traces }) => traces === 0)
        const advice = isEmpty ? '' : '\nNothing was changed. Add --apply to delete them.'
        print(
          plans.map(plan => outcomeOf(plan, false)),
          `${planTable(plans)}${advice}`
        )
        return
      }
      const done: Outcome[] = []
      for (const plan of plans) {
        const onProgress = ({ traces }: { traces: number }) =>
          progress.show(() => `${plan.project}: ${tracesDone(traces, plan.traces)}`)
        const pruned = await interruptible(signal => applyExpiry(sql, plan, { onProgress, signal }))
        progress.clear()
        done.push({ ...outcomeOf(plan, true), traces: pruned.traces, spans: pruned.spans, kept: pruned.kept })
      }
      if (done.some(({ traces }) => traces > 0)) await reclaimRoom(sql)
      print(done, done.length === 0 ? NONE : done.map(describeOutcome).join('\n'))
    })
  }
})

interface Outcome extends Omit<ExpiryPlan, 'projectId' | 'selection' | 'bytes'> {
  readonly before: string | undefined
  readonly kept?: number
  readonly applied: boolean
}

const outcomeOf = ({ projectId: _, selection, bytes: __, ...plan }: ExpiryPlan, applied: boolean): Outcome => ({
  ...plan,
  before: selection.before,
  applied
})

function describeOutcome({ project, traces, spans, kept = 0 }: Outcome): string {
  const left =
    kept === 0 ? '' : ` ${counted(kept, 'trace')} kept changing and could not be deleted: run the command again.`
  return `${project}: deleted ${counted(traces, 'trace')} with ${counted(spans, 'span')}.${left}`
}

const NONE = 'No project has a retention period: set one with `spoor retention set PROJECT 90d`.'

function retentionTable(retentions: readonly DescribedRetention[]): string {
  const rows = retentions.map(({ project, ...retention }) => [project, describeRetention(retention)])
  return table(['PROJECT', 'KEEPS'], rows, NONE)
}

function planTable(plans: readonly ExpiryPlan[]): string {
  const rows = plans.map(({ project, traces, spans, bytes, ...retention }) => [
    ...[project, describeRetention(retention), traces, spans],
    size(bytes)
  ])
  return table(['PROJECT', 'KEEPS', 'TRACES TO DELETE', 'SPANS', 'BYTES'], rows, NONE)
}

/** Describes a retention period, such as `traces from the last 90 days, and all with a score or the tag golden`. */
function describeRetention({ days, keepsScored, keepsTags }: Retention): string {
  const others = [...(keepsScored ? ['a score'] : []), ...keepsTags.map(tag => `the tag ${tag}`)]
  const longer = others.length === 0 ? '' : `, and all with ${others.join(' or ')}`
  return `traces from the last ${counted(days, 'day')}${longer}`
}
