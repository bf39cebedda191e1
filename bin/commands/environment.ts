import type { BackfillPlan } from '../../lib/admin/upkeep/environments.ts'
import { UNASSIGNED } from '../../lib/trace/environment.ts'
import { command, UsageError } from '../command.ts'
import { withDatabase } from '../database.ts'
import { interruptible } from '../terminal/interrupt.ts'
import { parseTimes, TIME_FLAGS } from '../terminal/times.ts'
import { count, counted, tracesDone } from '../terminal/words.ts'

export const backfill = command({
  summary: 'Set the environment of stored traces that have none',
  flags: {
    project: { type: 'string', value: 'SLUG', required: true, about: 'change traces in this project' },
    environment: { type: 'string', value: 'E', required: true, about: 'the label, or `unassigned`' },
    key: { type: 'string', value: 'KEYID', about: 'only traces recorded with this key' },
    tag: { type: 'string', value: 'T', about: 'only traces with this tag' },
    ...TIME_FLAGS,
    overwrite: { type: 'boolean', about: 'also change traces that have an environment or are `unassigned`' },
    apply: { type: 'boolean', about: 'make the changes; by default, the command only counts them' }
  },
  details: [
    'By default, only traces whose environment was never recorded change. A key without an environment records its',
    'traces as `unassigned`.',
    '',
    'Only traces that meet all conditions change. Nothing is deleted. The command works in small batches, so you can',
    'run it while the server is running. If it is interrupted, finished batches are kept; run it again to continue.'
  ].join('\n'),
  examples: [
    'environment backfill --project default --environment production',
    'environment backfill --project default --environment staging --tag nightly --to 2026-01-31T23:59:59Z --apply',
    'environment backfill --project default --environment production --key 4fT0qLm2XbC8vNwZ --overwrite --apply'
  ],
  async run({ flags, env, print, progress }) {
    const { project, environment, key: keyId, tag, overwrite, apply } = flags
    const request = { project, environment, keyId, tag: await parseTag(tag), ...parseTimes(flags), overwrite }
    await withDatabase(env, async ({ sql }) => {
      // Loaded here because --help does not need this module.
      const { applyBackfill, planBackfill } = await import('../../lib/admin/upkeep/environments.ts')
      const plan = await planBackfill(sql, request)
      if (!apply) {
        print({ matched: plan.matched, changing: plan.changing, applied: false }, describePlan(plan))
        return
      }
      progress.say(summarise(plan))
      const onProgress = (changed: number) => progress.show(() => tracesDone(changed, plan.changing))
      const { matched, changed } = await interruptible(signal => applyBackfill(sql, plan, { onProgress, signal }))
      progress.clear()
      const label = plan.relabelling.environment
      print({ matched, changing: changed, applied: true }, `${counted(changed, 'trace')} changed to ${label}`)
    })
  }
})

async function parseTag(text: string | undefined): Promise<string | undefined> {
  if (text === undefined) return undefined
  const { MAX_TAG } = await import('../../lib/schema/input.ts')
  const { length } = [...text]
  if (length >= 1 && length <= MAX_TAG) return text
  throw new UsageError(`--tag must be 1 to ${MAX_TAG} characters, not ${JSON.stringify(text)}`)
}

function describePlan(plan: BackfillPlan): string {
  const advice = plan.changing > 0 ? 'Nothing was changed. Add --apply to make the changes.' : 'There is nothing to do.'
  return `${summarise(plan)}\n${advice}`
}

function summarise({ matched, changing, environments, relabelling }: BackfillPlan): string {
  const { environment: label, overwrite } = relabelling
  const lines = environments.map(({ environment, traces }) => {
    const from = environment ?? 'not recorded'
    const changes = environment === null || (overwrite && environment !== label)
    const kept =
      environment === label
        ? 'unchanged'
        : `unchanged, because it is already ${environment === UNASSIGNED ? 'recorded' : 'set'}`
    return `  ${count(traces)} ${from} → ${changes ? label : kept}`
  })
  return [`${counted(matched, 'trace')} selected, ${count(changing)} to change:`, ...lines].join('\n')
}
