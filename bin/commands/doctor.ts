import { execFile } from 'node:child_process'
import type { Check } from '../../lib/admin/doctor.ts'
import { AdminError } from '../../lib/admin-error.ts'
import { command } from '../command.ts'
import { type DatabaseSession, withAnyDatabase } from '../database.ts'
import { alignColumns } from '../terminal/table.ts'
import { counted } from '../terminal/words.ts'

export default command({
  summary: 'Check that your PostgreSQL works with spoor',
  details: [
    'Checks the version, poolers, encoding, privileges, settings, connections, TLS, clocks and pg_dump of the database',
    'at DATABASE_URL, before or after a server first starts. Each failed check says how to fix the problem. Nothing is',
    'changed. The exit code is 1 if a check fails; warnings do not count.'
  ].join('\n'),
  examples: ['doctor', 'doctor --json'],
  async run({ env, print }) {
    const checks = await withAnyDatabase(env, examine)
    print(checks, alignColumns(checks.map(({ result, name, text }) => [MARKS[result], name, text])).join('\n'))
    const failed = checks.filter(({ result }) => result === 'fail').length
    if (failed > 0) throw new AdminError(`${counted(failed, 'check')} failed: see above`)
  }
})

const MARKS = { ok: 'ok', warn: 'warning', fail: 'FAILED' } as const

async function examine({ config, database, sql }: DatabaseSession): Promise<Check[]> {
  // Loaded here because --help does not need these modules.
  const [{ diagnose }, facts, tables, properties, migrate, lacks, session, { Pool }] = await Promise.all([
    import('../../lib/admin/doctor.ts'),
    import('../../lib/store/server/facts.ts'),
    import('../../lib/database/tables.ts'),
    import('../../lib/store/server/properties.ts'),
    import('../../lib/database/migrate.ts'),
    import('../../lib/health/lacks.ts'),
    import('../../lib/database/session/require-session.ts'),
    import('../../lib/database/pool.ts')
  ])
  const server = await facts.readServerFacts(sql, [...tables.PROJECT_TABLES, ...tables.LOCAL_TABLES])
  const now = Date.now()
  const other = new Pool(onClose => database.connect({ applicationName: 'command', onClose }), { size: 1 })
  const pooler = await session
    .requireSession(sql, other)
    .then(
      () => undefined,
      (error: Error) => error.message
    )
    .finally(() => other.end())
  const { state, version, latest } = await migrate.readSchemaState(sql)
  const schemas: Readonly<Record<typeof state, string | undefined>> = {
    current: undefined,
    missing: 'The database has no schema yet: start a server, or run `spoor migrate`.',
    older: `The schema is at version ${version} of ${latest}: run \`spoor migrate\`.`,
    newer: `The schema is at version ${version}, but this version of spoor supports up to ${latest}: update spoor.`
  }
  const room = await properties.readConnectionRoom(sql)
  const [connections] = lacks.findShortage(room, config.processes, config.databaseConnections)
  const pgDump = await readDumpVersion()
  return diagnose(server, { pooler, schema: schemas[state], connections, pgDump, embedded: database.embedded, now })
}

/** Returns the major version of the pg_dump in PATH; undefined if there is none. */
function readDumpVersion(): Promise<number | undefined> {
  return new Promise(resolve => {
    execFile('pg_dump', ['--version'], { timeout: 5000 }, (_error, stdout) => {
      const major = / (\d+)[.\s]/.exec(stdout)?.[1]
      resolve(major === undefined ? undefined : Number(major))
    })
  })
}
