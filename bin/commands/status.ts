import type { InstanceStatus } from '../../lib/admin/status.ts'
import { AdminError } from '../../lib/admin-error.ts'
import { MOST_WAITING } from '../../lib/store/repacking/progress.ts'
import { command } from '../command.ts'
import { withAnyDatabase } from '../database.ts'
import { alignColumns } from '../terminal/table.ts'
import { counted, relativeTime, size } from '../terminal/words.ts'
import { projectTable } from './project.ts'

/** Maximum wait for PostgreSQL to recover. After that, the status reports only the recovery. */
const RECOVERY_PATIENCE_MS = 2000

/** Maximum number of unpriced models listed in the text output. */
const MOST_UNPRICED = 5

export default command({
  summary: "Show the instance's state and problems",
  flags: {
    'no-server': { type: 'boolean', about: 'do not report a stopped server as a problem' },
    recount: { type: 'boolean', about: 'also check totals against the traces, in projects with up to 20,000 traces' },
    quiet: { type: 'boolean', short: 'q', about: 'print only problems, if any; for cron' }
  },
  details: [
    "The exit code is 1 if there is a problem, for cron or a monitor. Problems include that this database's server is",
    'not running or not ready, and that another program responds at its address.'
  ].join('\n'),
  examples: ['status', 'status --json', 'status --no-server', 'status --quiet'],
  async run({ flags, env, print }) {
    const { readStatus } = await import('../../lib/admin/status.ts')
    const status = await withAnyDatabase(
      env,
      ({ config, database, sql }) =>
        readStatus(config, database, sql, { expectsServer: !flags['no-server'], recounts: flags.recount }),
      RECOVERY_PATIENCE_MS
    )
    const { length } = status.problems
    if (!flags.quiet) print(status, describe(status))
    else if (length > 0) print(status.problems, status.problems.join('\n'))
    if (length > 0) throw new AdminError(`${counted(length, 'problem')} found: see above`)
  }
})

function describe(status: InstanceStatus): string {
  const { version, server, database, nodes, schema, projects, totals, news, people, problems } = status
  const facts: [string, string][] = [
    ['spoor', version],
    ['server', describeServer(server)],
    ['database', describeDatabase(database)],
    ...(database.disk === null ? [] : [['disk', `${size(database.disk.freeBytes)} free`] as [string, string]])
  ]
  for (const { name, port, shards, bytes } of nodes) {
    facts.push(['node', `${name}:${port}, ${counted(shards, 'shard')}, ${size(bytes)}`])
  }
  if (schema !== null) {
    facts.push(
      ['schema', `${schema.state}, version ${schema.version} of ${schema.latest}`],
      ['stored', `${counted(totals.traces, 'trace')}, ${counted(totals.spans, 'span')}, ${size(totals.bytes)}`],
      ['charts', news === 0 ? 'current' : `current, except that totals do not yet include ${counted(news, 'change')}`],
      ['backup', status.lastBackupAt === null ? 'none by `spoor backup`' : relativeTime(status.lastBackupAt)],
      ['dashboard', `${counted(people.users, 'user')}, ${counted(people.sessions, 'session')}`]
    )
  }
  for (const { project, backTo, isFilled, waiting, partlyIndexed } of status.search) {
    const back = isFilled
      ? 'all traces'
      : backTo === null
        ? 'no earlier traces indexed yet'
        : `traces back to ${backTo}`
    const news = waiting === 0 ? '' : `, ${counted(waiting, 'write')} to index`
    const partly =
      partlyIndexed === 0 ? '' : `, ${counted(partlyIndexed, 'trace')} without errors, tool calls and metadata`
    facts.push(['search', `${project}: ${back}${news}${partly}`])
  }
  for (const { project, waiting } of status.repacking) {
    const most = waiting === MOST_WAITING ? 'at least ' : ''
    facts.push(['repacking', `${project}: ${most}${counted(waiting, 'trace')} waiting`])
  }
  for (const { project, model, calls } of status.unpriced.slice(0, MOST_UNPRICED)) {
    facts.push(['no price', `${model}, ${counted(calls, 'call')} in ${project}`])
  }
  const { length } = status.unpriced.slice(MOST_UNPRICED)
  if (length > 0) facts.push(['', `and ${counted(length, 'more model')}: see \`spoor price list\``])
  facts.push(...describeUnkept(status.unkept))
  return [
    ...alignColumns(facts),
    '',
    ...(schema?.state === 'current' || schema?.state === 'newer' ? [projectTable(projects), ''] : []),
    ...(problems.length === 0 ? ['All is well.'] : problems.map(problem => `! ${problem}`))
  ].join('\n')
}

/** Maximum number of names shown per line. The project's settings page shows all names. */
const MOST_NAMED = 5

/** Describes the records that each project received but did not keep, and how to stop their senders. */
function describeUnkept(unkept: InstanceStatus['unkept']): [string, string][] {
  const groups = new Map<string, InstanceStatus['unkept'][number][]>()
  for (const each of unkept) {
    const key = `${each.project} ${each.signal}`
    groups.set(key, [...(groups.get(key) ?? []), each])
  }
  return [...groups.values()].map(group => {
    const { project, signal } = group[0] as (typeof group)[number]
    const what = signal === 'logs' ? 'log record' : 'metric'
    const total = group.reduce((sum, { count }) => sum + count, 0)
    const since = group.map(({ firstAt }) => firstAt).sort()[0] as string
    const names = group.slice(0, MOST_NAMED).map(({ name }) => name)
    const more = group.length > MOST_NAMED ? ', …' : ''
    const remedy = signal === 'logs' ? 'OTEL_LOGS_EXPORTER=none' : 'OTEL_METRICS_EXPORTER=none'
    const counts = `${counted(total, what)} since ${since.slice(0, 10)} (${names.join(', ')}${more})`
    return ['not kept', `${project}: ${counts}; to stop them, set ${remedy} in the sender's environment`]
  })
}

function describeServer(server: InstanceStatus['server']): string {
  if (server === null) return 'not running'
  const { address, pid, ready } = server
  return `${address}${pid === undefined ? '' : ` (process ${pid})`}, ${ready ? 'ready' : 'not ready'}`
}

function describeDatabase({ location, serverVersion, bytes }: InstanceStatus['database']): string {
  if (serverVersion === null) return `${location}, unreachable`
  return `${location} (PostgreSQL ${serverVersion}${bytes === null ? '' : `, ${size(bytes)}`})`
}
