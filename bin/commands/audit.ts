import { type AuditListing, listAudit, MOST_AUDIT_ENTRIES } from '../../lib/admin/audit.ts'
import { command } from '../command.ts'
import { withDatabase } from '../database.ts'
import { table } from '../terminal/table.ts'
import { parseMoment } from '../terminal/times.ts'

export default command({
  summary: 'Say who changed or deleted what, other than by recording',
  flags: {
    project: { type: 'string', value: 'SLUG', about: 'only what was done in this project' },
    since: { type: 'string', value: 'TIME', about: 'only what was done at this time or later, or 7d: 7 days ago' }
  },
  details: [
    `Sign-ins, deletions, and changes of keys, projects and members: the newest ${MOST_AUDIT_ENTRIES.toLocaleString('en')}. Of a command the user of the`,
    'system is named, of a deletion through the API the key.'
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
  return table(['TIME', 'BY', 'ACTION', 'WHERE', 'DETAIL'], rows, 'Nothing was done yet.')
}
