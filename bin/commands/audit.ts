import { type AuditListing, auditAfter, listAudit, MOST_AUDIT_ENTRIES } from '../../lib/admin/audit.ts'
import { command, UsageError } from '../command.ts'
import { withDatabase } from '../database.ts'
import { table } from '../terminal/table.ts'
import { parseMoment } from '../terminal/times.ts'

export default command({
  summary: 'List changes and deletions, and who made them',
  flags: {
    project: { type: 'string', value: 'SLUG', about: 'only actions in this project' },
    since: {
      type: 'string',
      value: 'TIME',
      about: 'only actions since this time, or within this period, such as 7d'
    },
    after: {
      type: 'string',
      value: 'ID',
      about: 'print all later entries as JSON lines, oldest first; 0 starts at the first entry'
    }
  },
  details: [
    `Lists the newest ${MOST_AUDIT_ENTRIES.toLocaleString('en')} sign-ins, deletions, and changes to keys, projects`,
    'and members. For a command, it shows the operating-system user; for a deletion through the API, the key.',
    'Recorded traces are not listed. Failed sign-ins by one user and client within 15 minutes share an entry.',
    '',
    '--after writes one JSON object per line, for a log collector. Pass the `id` of the last line collected.',
    'Entries from the last 15 seconds are left for the next run, so that none are missed.'
  ].join('\n'),
  examples: ['audit', 'audit --project default --since 2026-11-01T00:00:00Z --json', 'audit --after 0 >> audit.ndjson'],
  async run({ flags, env, print, stream }) {
    const { project, after } = flags
    const since = parseMoment('since', flags.since)
    if (after !== undefined) {
      if (!/^\d{1,15}$/.test(after)) throw new UsageError('--after must be the id of an entry, or 0')
      return withDatabase(env, async ({ sql }) => {
        for await (const entry of auditAfter(sql, { project, since, after: Number(after) })) {
          await stream(`${JSON.stringify(entry)}\n`)
        }
      })
    }
    const entries = await withDatabase(env, ({ sql }) => listAudit(sql, { project, since }))
    print(entries, auditTable(entries))
  }
})

function auditTable(entries: readonly AuditListing[]): string {
  const rows = entries.map(({ at, by, client, action, project, account, detail }) => [
    at,
    by,
    client ?? '-',
    action,
    project ?? account ?? '-',
    Object.entries(detail)
      .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join(' ')
  ])
  return table(['TIME', 'BY', 'FROM', 'ACTION', 'WHERE', 'DETAIL'], rows, 'There are no entries yet.')
}
