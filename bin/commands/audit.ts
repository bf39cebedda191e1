import { type AuditListing, listAudit, MOST_AUDIT_ENTRIES } from '../../lib/admin/audit.ts'
import { command } from '../command.ts'
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
      about: 'only actions since this time, or since a number of days ago, such as 7d'
    }
  },
  details: [
    `Lists the newest ${MOST_AUDIT_ENTRIES.toLocaleString('en')} sign-ins, deletions, and changes to keys, projects`,
    'and members. For a command, the list names the operating-system user; for a deletion through the API, the key.',
    'Recording traces is not listed.'
  ].join('\n'),
  examples: ['audit', 'audit --project default --since 2026-11-01T00:00:00Z --json'],
  async run({ flags, env, print }) {
    const since = parseMoment('since', flags.since)
    const entries = await withDatabase(env, ({ sql }) => listAudit(sql, flags.project, since))
    print(entries, auditTable(entries))
  }
})

function auditTable(entries: readonly AuditListing[]): string {
  const rows = entries.map(({ at, by, action, project, account, detail }) => [
    at,
    by,
    action,
    project ?? account ?? '-',
    Object.entries(detail)
      .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join(' ')
  ])
  return table(['TIME', 'BY', 'ACTION', 'WHERE', 'DETAIL'], rows, 'There are no entries yet.')
}
