import type { Compacted, CompactionPlan, CompactionStep } from '../../lib/admin/upkeep/compaction.ts'
import { AdminError } from '../../lib/admin-error.ts'
import { command, UsageError } from '../command.ts'
import { type DatabaseSession, withDatabase } from '../database.ts'
import { interruptible } from '../terminal/interrupt.ts'
import type { Progress } from '../terminal/progress.ts'
import { table } from '../terminal/table.ts'
import { bar, counted, size } from '../terminal/words.ts'

/** Smaller tables and indexes share a line of the report. */
const LISTED_BYTES = 1024 ** 2
/** How long a trace must have been unchanged before it is repacked if the server repacks none, which is the default. */
const CALM_MS = 600_000

export default command({
  summary: 'Free the disk space of deleted and repacked traces',
  flags: {
    apply: { type: 'boolean', about: 'free the space; by default, the command only reports what each step would free' },
    'rebuild-tables': {
      type: 'boolean',
      about: 'also rebuild tables while servers are connected, which makes their requests wait'
    }
  },
  details: [
    'PostgreSQL reuses the space of deleted rows, but returns disk space only from the end of its files.',
    'This command packs the text of complete traces together, and rebuilds indexes and tables that would shrink a lot.',
    'Indexes are rebuilt while servers run. A table cannot be read or written while it is rebuilt, so tables are',
    'rebuilt only if no server is connected, or with --rebuild-tables. Requests then wait. A request that waits longer',
    'than the server allows gets 503 (reads) or 429 (writes), and can be sent again.',
    '',
    'Rebuilding an index or table requires free disk space for a copy of it. If the command is interrupted, everything',
    'remains usable, and finished steps are kept. Run it again to continue.'
  ].join('\n'),
  examples: ['compact', 'compact --apply', 'compact --apply --rebuild-tables --json'],
  async run({ flags, env, print, progress }) {
    if (flags['rebuild-tables'] && !flags.apply) throw new UsageError('--rebuild-tables needs --apply')
    const compacted = await withDatabase(env, session =>
      interruptible(async signal => {
        // Loaded here because --help does not need this module.
        const { planCompaction, totalBytes } = await import('../../lib/admin/upkeep/compaction.ts')
        const onTable = (name: string) => progress.show(() => `measuring ${name}`)
        const rebuildsTables = flags['rebuild-tables'] || undefined
        const options = { ...(rebuildsTables && { rebuildsTables }), signal, onTable }
        const plan = await orInterrupted(signal, planCompaction(session.sql, options))
        progress.clear()
        const total = totalBytes(plan.tables)
        if (!flags.apply) {
          print({ ...plan, totalBytes: total, applied: false }, describePlan(plan, total))
          return undefined
        }
        return apply(session, plan, progress, signal)
      })
    )
    if (compacted === undefined) return
    progress.clear()
    print({ ...compacted, applied: true }, describeCompacted(compacted))
    const { length } = compacted.skipped
    if (length > 0) throw new AdminError(`${counted(length, 'step')} could not be completed: see above`)
  }
})

/** Replaces the error of work that a signal interrupted with a readable message. */
async function orInterrupted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (signal.aborted) throw new AdminError('interrupted: nothing was changed')
    throw error
  }
}

async function apply(
  { database, config, sql }: DatabaseSession,
  plan: CompactionPlan,
  progress: Progress,
  signal: AbortSignal
): Promise<Compacted> {
  const [{ applyCompaction }, { readDisk }] = await Promise.all([
    import('../../lib/admin/upkeep/compaction.ts'),
    import('../../lib/database/embedded/free-disk.ts')
  ])
  const worker = database.connect({ applicationName: 'compaction' })
  let told = ''
  try {
    return await applyCompaction(sql, plan, {
      worker,
      signal,
      calmMs: config.repackAfterMs ?? CALM_MS,
      readFree: async () => (database.embedded ? (await readDisk(config.dataDir))?.freeBytes : undefined),
      onProgress(what, { phase, done, total, waitsFor }) {
        if (waitsFor !== undefined) {
          const waiting = `${what} is waiting for ${waitsFor} to finish its transaction`
          if (waiting !== told) progress.say(waiting)
          told = waiting
        }
        const share = total > 0 ? `${bar(done, total)}  ` : ''
        progress.show(() => `${share}${what}${phase === undefined ? '' : `: ${phase}`}`)
      }
    })
  } finally {
    await worker.end({ timeout: 1 })
  }
}

const gainOf = ({ bytes, afterBytes }: Pick<CompactionStep, 'bytes' | 'afterBytes'>): number => bytes - afterBytes

function describePlan(plan: CompactionPlan, total: number): string {
  const { tables, repacking, steps, leftovers, elsewhere, neededBytes } = plan
  const all = tables.flatMap(each => [
    { kind: 'table', name: each.name, bytes: each.bytes, afterBytes: each.afterBytes },
    ...each.indexes.map(({ name, bytes, afterBytes }) => ({ kind: 'index', name, bytes, afterBytes }))
  ])
  const listed = all.filter(({ bytes }) => bytes >= LISTED_BYTES).sort((a, b) => gainOf(b) - gainOf(a))
  const others = all.filter(({ bytes }) => bytes < LISTED_BYTES)
  const sum = (of: (each: (typeof all)[number]) => number) => others.reduce((total, each) => total + of(each), 0)
  const rows = listed.map(each => [each.kind, each.name, ...sizes(each)])
  rows.push([
    '',
    counted(others.length, 'other'),
    ...sizes({ bytes: sum(of => of.bytes), afterBytes: sum(of => of.afterBytes) })
  ])
  const gain = steps.reduce((sum, step) => sum + gainOf(step), 0)
  const names = steps.map(({ name }) => name).join(', ')
  const lines = [
    table(['', 'NAME', 'NOW', 'REBUILT, ABOUT', 'GAIN, ABOUT'], rows, ''),
    '',
    ...describeRepacking(repacking),
    ...(leftovers.length === 0
      ? []
      : [`An interrupted run left invalid indexes, which will be dropped: ${leftovers.join(', ')}.`]),
    ...describeElsewhere(elsewhere),
    gain === 0
      ? `Nothing is worth rebuilding; ${size(total)} is in use.`
      : `About ${size(gain)} of ${size(total)} can be freed by rebuilding ${names}.`,
    ...(steps.length === 0 ? [] : [`The largest copy needs about ${size(neededBytes)} of free disk space.`]),
    ...describeTables(plan),
    gain === 0 && leftovers.length === 0 && repacking.traces === 0
      ? 'Nothing was changed.'
      : 'Nothing was changed. Add --apply to free the space.'
  ]
  return lines.join('\n')
}

const sizes = (each: Pick<CompactionStep, 'bytes' | 'afterBytes'>): string[] =>
  [each.bytes, each.afterBytes, gainOf(each)].map(size)

function describeRepacking({ traces, bytes, afterBytes }: CompactionPlan['repacking']): string[] {
  if (traces === 0) return []
  return [`${counted(traces, 'trace')} can be repacked: ${size(bytes)} of text would become about ${size(afterBytes)}.`]
}

function describeElsewhere(elsewhere: readonly string[]): string[] {
  if (elsewhere.length === 0) return []
  const tables = elsewhere.join(', ')
  return [
    `The rows of ${tables} are on other servers. This command repacks and vacuums them, but does not measure or ` +
      'rebuild them. To rebuild their indexes, run REINDEX on those servers.'
  ]
}

/** Says what the rebuild of tables means for servers that are connected. */
function describeTables({ tables, servers, rebuildsTables, steps, longestSeconds }: CompactionPlan): string[] {
  if (servers.length === 0) return []
  if (rebuildsTables) return [`Requests wait while a table is rebuilt, for about ${counted(longestSeconds, 'second')}.`]
  const left = tables.reduce((sum, { bytes, afterBytes }) => sum + bytes - afterBytes, 0)
  if (left < LISTED_BYTES) return []
  const names = steps.length === 0 ? 'The tables' : 'Their tables'
  return [
    `Servers are connected, so no table is rebuilt. ${names} can be rebuilt to free about ${size(left)} more: stop the`,
    'servers, or add --rebuild-tables and let requests wait.'
  ]
}

function describeCompacted({ beforeBytes, afterBytes, repacked, dropped, done, skipped }: Compacted): string {
  const rows = done.map(step => [step.kind, step.name, ...sizes(step)])
  return [
    ...(rows.length === 0 ? [] : [table(['', 'NAME', 'BEFORE', 'AFTER', 'GAIN'], rows, ''), '']),
    ...(repacked === undefined ? ['A server is repacking traces, so this command repacked none.'] : []),
    ...(repacked !== undefined && repacked.traces > 0
      ? [`Repacked ${counted(repacked.traces, 'trace')}: ${size(repacked.bytes)} became ${size(repacked.afterBytes)}.`]
      : []),
    ...(repacked !== undefined && repacked.failed > 0
      ? [`${counted(repacked.failed, 'trace')} could not be unpacked and were left unchanged.`]
      : []),
    ...(dropped.length === 0 ? [] : [`Dropped invalid indexes from an interrupted run: ${dropped.join(', ')}.`]),
    ...skipped.map(({ step, reason }) => `${step.kind} ${step.name} was not rebuilt: ${reason}.`),
    `${size(Math.max(0, beforeBytes - afterBytes))} of ${size(beforeBytes)} was freed.`
  ].join('\n')
}
