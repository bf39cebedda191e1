import { AdminError } from '../../lib/admin/admin-error.ts'
import type { Status } from '../../lib/admin/status.ts'
import { command } from '../command.ts'
import { withAnyDatabase } from '../database.ts'
import { alignColumns } from '../table.ts'
import { counted } from '../words.ts'
import { projectTable } from './project.ts'

export default command({
  summary: 'Say what runs, what is stored, and what is amiss',
  usage: {
    parameters: [],
    flags: {},
    details: 'The exit code is 1 where something is amiss.',
    examples: ['status', 'status --json']
  },
  async run({ env, print }) {
    const { readStatus } = await import('../../lib/admin/status.ts')
    const status = await withAnyDatabase(env, ({ config, database, sql }) => readStatus(config, database, sql))
    print(status, describe(status))
    const { length } = status.problems
    if (length > 0) throw new AdminError(`${counted(length, 'thing')} ${length === 1 ? 'is' : 'are'} amiss: see above`)
  }
})

function describe({ version, server, database, schema, projects, problems }: Status): string {
  const pid = server?.pid === undefined ? '' : ` (process ${server.pid})`
  const facts = [
    ['spoor', version],
    ['server', server === null ? 'not running' : `${server.address}${pid}`],
    ['database', `${database.location} (PostgreSQL ${database.serverVersion})`],
    ['schema', `${schema.state}, version ${schema.version} of ${schema.latest}`]
  ]
  return [
    ...alignColumns(facts),
    '',
    ...(schema.state === 'current' ? [projectTable(projects), ''] : []),
    ...(problems.length === 0 ? ['All is well.'] : problems.map(problem => `! ${problem}`))
  ].join('\n')
}
