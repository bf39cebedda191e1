import type { Pruned, PrunePlan } from '../../../lib/admin/upkeep/pruning.ts'
import { AdminError } from '../../../lib/admin-error.ts'
import { MOST_REMAINING } from '../../../lib/schema/field-values.ts'
import type { TraceConditions } from '../../../lib/store/trace/trace-conditions.ts'
import type { Asker, QueryMembers } from '../../asking/asker.ts'
import { parseId } from '../../asking/output.ts'
import { ASKING_FLAGS, withAsker } from '../../asking/place.ts'
import { type Call, command, UsageError } from '../../command.ts'
import { withDatabase } from '../../database.ts'
import { interruptible } from '../../terminal/interrupt.ts'
import type { DetailedTrace } from '../../terminal/trace-lines.ts'
import { count, counted, size, tracesDone } from '../../terminal/words.ts'
import { foundPages, readSelection, SELECTION_FLAGS } from './selection.ts'

export const remove = command({
  summary: "Delete one trace, or a project's traces that match conditions such as age",
  parameters: ['TRACE'],
  lastIsOptional: true,
  flags: {
    ...ASKING_FLAGS,
    ...SELECTION_FLAGS,
    apply: { type: 'boolean', about: 'delete the traces with all their data' }
  },
  details: [
    'TRACE is a trace id. Without it, at least one condition is required, and only traces that meet all conditions are',
    'deleted. A key needs the traces:delete scope and, with conditions, traces:read. The command works in small',
    'batches, so you can run it while the server is running; the totals are correct after each batch. If it is',
    'interrupted, the finished batches stay deleted; run it again to delete the rest. Traces are never deleted',
    'automatically. To limit their age, run this command every night with cron.',
    '',
    'PostgreSQL reuses the space of deleted rows for new rows. Only free space at the end of its files is returned to',
    'the operating system; `spoor compact` frees the rest.'
  ].join('\n'),
  examples: [
    'trace delete --project default --before 90d',
    'trace delete --project default --before 2026-01-01 --environment staging --apply',
    'trace delete --user user-42 --apply',
    "trace delete --score 'helpfulness<0.2' --before 30d --apply",
    'trace delete 4bf92f3577b34da6a3ce929d0e0e4736 --apply'
  ],
  async run(call) {
    const { parameters, flags, env, print, progress } = call
    const { project, apply } = flags
    const selection = readSelection(flags)
    const { conditions } = selection
    if (parameters.TRACE !== undefined) {
      if (selection.isAny) {
        throw new UsageError('TRACE cannot be combined with conditions')
      }
      return deleteOne(parseId('TRACE', parameters.TRACE, 32), call)
    }
    if (project === undefined || selection.isFurther) {
      if (!selection.isAny) throw new UsageError('specify TRACE or a condition, such as --user or --before')
      const owner = selection.isFurther ? undefined : onlyOwner(conditions)
      return owner === undefined ? deleteMatching(selection.query, call) : deleteOf(owner, call)
    }
    const request = { project, ...conditions }
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
        const advice = traces > 0 ? ' Nothing was changed. Add --apply to delete them.' : ''
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
      progress.show(() => 'measuring the space that can be reused')
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

type Deleting = Pick<
  Call<typeof ASKING_FLAGS & { apply: { type: 'boolean'; about: string } }>,
  'flags' | 'env' | 'print' | 'progress'
>

type Owner = { readonly userId: string } | { readonly sessionId: string }

/** Returns the user or the session if it is the only condition. */
function onlyOwner(conditions: TraceConditions): Owner | undefined {
  const { userId, sessionId, ...others } = conditions
  if (Object.values(others).every(value => value === undefined)) {
    if (userId !== undefined && sessionId === undefined) return { userId }
    if (sessionId !== undefined && userId === undefined) return { sessionId }
  }
  return undefined
}

/** Deletes the traces that a query finds, page by page. */
async function deleteMatching(query: QueryMembers, { flags, env, print, progress }: Deleting): Promise<void> {
  let traces = 0
  await withAsker(flags, env, asker =>
    interruptible(async signal => {
      for await (const page of foundPages(asker, query)) {
        if (signal.aborted) throw interruptedAfter(traces)
        traces += flags.apply ? await deleteAll(asker, page) : page.length
        progress.show(() => `${counted(traces, 'trace')} ${flags.apply ? 'deleted' : 'found'}`)
      }
    })
  )
  progress.clear()
  const advice = traces === 0 ? '' : ` Nothing was changed. Add --apply to delete ${traces === 1 ? 'it' : 'them'}.`
  const all = counted(traces, 'trace')
  print({ traces, applied: flags.apply }, flags.apply ? `deleted ${all}` : `${all} selected.${advice}`)
}

/** Deletes the traces of a page. Returns the number of traces that were deleted. */
async function deleteAll(asker: Asker, page: readonly { readonly id: string }[]): Promise<number> {
  const traceIds = page.map(({ id }) => id)
  let deleted = 0
  for (let remaining = traceIds.length; remaining > 0; ) {
    const answer = JSON.parse(await asker.ask('POST', '/api/v1/deletions', { traceIds }))
    deleted += answer.deleted
    remaining = answer.remaining
  }
  return deleted
}

const interruptedAfter = (traces: number) =>
  new AdminError(`interrupted: ${counted(traces, 'trace')} deleted; run the command again to continue`)

/** Deletes all traces of a user or a session, which takes several requests. */
async function deleteOf(owner: Owner, { flags, env, print, progress }: Deleting): Promise<void> {
  const [[field, id]] = Object.entries(owner) as [[string, string]]
  const whose = `${field === 'userId' ? 'user' : 'session'} ${id}`
  if (!flags.apply) {
    const { traces, hint } = await withAsker(flags, env, async asker => {
      const answer = JSON.parse(await asker.ask('POST', '/api/v1/deletions', { ...owner, dryRun: true }))
      return { traces: answer.remaining as number, hint: hintOf(answer) }
    })
    const all = `${traces === MOST_REMAINING ? 'at least ' : ''}${counted(traces, 'trace')} of ${whose}`
    const advice = traces === 0 ? hint : ` Nothing was changed. Add --apply to delete ${traces === 1 ? 'it' : 'them'}.`
    print({ ...owner, traces, applied: false }, `${all} selected.${advice}`)
    return
  }
  let traces = 0
  let hint = ''
  await withAsker(flags, env, asker =>
    interruptible(async signal => {
      for (let remaining = 1; remaining > 0; ) {
        if (signal.aborted) throw interruptedAfter(traces)
        const answer = JSON.parse(await asker.ask('POST', '/api/v1/deletions', owner))
        traces += answer.deleted
        remaining = answer.remaining
        if (traces === 0) hint = hintOf(answer)
        progress.show(() => tracesDone(traces, traces + remaining))
      }
    })
  )
  progress.clear()
  print(
    { ...owner, traces, applied: true },
    `deleted ${counted(traces, 'trace')} of ${whose}${hint === '' ? '' : `.${hint}`}`
  )
}

/** Returns the hint about existing users or sessions, with a leading space; an empty string if there is no hint. */
const hintOf = ({ hint }: { readonly hint?: string }): string => (hint === undefined ? '' : ` ${hint}`)

/** Deletes a trace, or describes it if `--apply` is missing. */
async function deleteOne(
  id: string,
  {
    flags,
    env,
    print
  }: Pick<Call<typeof ASKING_FLAGS & { apply: { type: 'boolean'; about: string } }>, 'flags' | 'env' | 'print'>
): Promise<void> {
  const path = `/api/v1/traces/${id}`
  await withAsker(flags, env, async asker => {
    if (flags.apply) {
      await asker.ask('DELETE', path)
      print({ traceId: id, applied: true }, `deleted trace ${id}`)
      return
    }
    const { trace } = JSON.parse(await asker.ask('GET', path)) as DetailedTrace
    const what = `${id} (${trace.name}, with ${counted(trace.spanCount, 'span')})`
    print({ traceId: id, applied: false }, `trace ${what} selected. Nothing was changed. Add --apply to delete it.`)
  })
}

const describePlan = ({ traces, spans, bytes }: PrunePlan): string =>
  `${counted(traces, 'trace')} selected, with ${counted(spans, 'span')} (${size(bytes)})`

function describePruned({ traces, spans, kept }: Pruned, reusable: number, givenBack: number): string {
  const left =
    kept === 0 ? '' : ` ${counted(kept, 'trace')} kept changing and could not be deleted: run the command again.`
  const room = traces === 0 ? '' : ` About ${size(reusable)} on disk can be reused, and ${size(givenBack)} was freed.`
  return `deleted ${counted(traces, 'trace')} with ${counted(spans, 'span')}.${room}${left}`
}
