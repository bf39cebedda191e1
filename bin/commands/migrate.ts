import type { Sql } from 'postgres'
import { AdminError } from '../../lib/admin-error.ts'
import type { DistributionPlan, FoundNode, PlanStep } from '../../lib/cluster/plan.ts'
import { readConfig } from '../../lib/config.ts'
import type { Database } from '../../lib/database/database.ts'
import type { Logger } from '../../lib/log.ts'
import { command, UsageError } from '../command.ts'
import { openFor, refuseNewer, withAnyDatabase } from '../database.ts'
import { interruptible } from '../terminal/interrupt.ts'
import type { Progress } from '../terminal/progress.ts'
import { counted, size } from '../terminal/words.ts'

export default command({
  summary: 'Migrate the database schema to this version, or distribute the tables across a cluster',
  flags: {
    distributed: { type: 'boolean', about: 'distribute the trace tables across the nodes of a Citus cluster' },
    shards: { type: 'string', value: 'N', about: 'with --distributed: the number of shards; 32 by default' },
    apply: {
      type: 'boolean',
      about: 'with --distributed: distribute the tables; by default, the command only shows the plan'
    },
    'dry-run': {
      type: 'boolean',
      about: 'only show the pending migrations; with --distributed: only show the plan (the default)'
    }
  },
  details: [
    '`spoor serve` migrates the schema itself, unless AUTO_MIGRATE=false. If necessary, this command creates an',
    'embedded database.',
    '',
    '--distributed requires PostgreSQL with Citus; the database can be new or contain traces. Stop every server first.',
    'Traces move to the nodes one table at a time. If the command is interrupted, run it again to continue.'
  ].join('\n'),
  examples: ['migrate', 'migrate --dry-run', 'migrate --distributed', 'migrate --distributed --shards 64 --apply'],
  async run({ flags, env, print, progress }) {
    const { distributed, shards, apply } = flags
    if (!distributed && (apply || shards !== undefined)) {
      throw new UsageError(`--${apply ? 'apply' : 'shards'} requires --distributed`)
    }
    if (distributed) {
      const plan = await distribute(env, await readShards(shards), apply, progress)
      const { steps, done, nodes, obstacles } = plan
      print({ steps, done, nodes, obstacles, applied: apply }, describePlan(plan, apply))
      if (obstacles.length > 0) throw new AdminError('the tables cannot be distributed yet: see above')
      return
    }
    if (flags['dry-run']) {
      const missing = await withAnyDatabase(env, ({ sql }) => missingMigrations(sql))
      const text =
        missing.length === 0 ? 'no migrations are pending' : `migration ${missing.join(', ')} would be applied`
      print({ applied: [], missing }, text)
      return
    }
    const { applied, warning } = await openFor(readConfig(env), migrateAndLook)
    const text = applied.length === 0 ? 'no migrations are pending' : `applied migration ${applied.join(', ')}`
    print({ applied, warning: warning ?? null }, warning === undefined ? text : `${text}\n${warning}`)
  }
})

async function missingMigrations(sql: Sql): Promise<number[]> {
  const { readSchemaState } = await import('../../lib/database/migrate.ts')
  const { version, latest } = await readSchemaState(sql)
  return Array.from({ length: Math.max(0, latest - version) }, (_, i) => version + 1 + i)
}

/**
 * Migrates the schema. Returns the applied migrations, and a warning if the schema is newer than this version or some
 * tables are undistributed.
 */
async function migrateAndLook(database: Database, log: Logger) {
  const [{ describeNewer, readSchemaState }, { findLeftBehind }, { migrateSchema }] = await Promise.all([
    import('../../lib/database/migrate.ts'),
    import('../../lib/cluster/distribution.ts'),
    import('../../lib/cluster/distribution.ts')
  ])
  const applied = await migrateSchema(database, log)
  const sql = database.connect({ applicationName: 'migrate' })
  try {
    const schema = await readSchemaState(sql)
    const newer = schema.state === 'newer' ? describeNewer(schema) : undefined
    return { applied, warning: newer ?? (await findLeftBehind(sql)) }
  } finally {
    await sql.end({ timeout: 1 })
  }
}

async function readShards(text: string | undefined): Promise<number | undefined> {
  if (text === undefined) return undefined
  const { MOST_SHARDS } = await import('../../lib/cluster/plan.ts')
  const shards = Number(text)
  if (/^\d+$/.test(text) && shards >= 1 && shards <= MOST_SHARDS) return shards
  throw new UsageError(`--shards must be a whole number from 1 to ${MOST_SHARDS}, not ${JSON.stringify(text)}`)
}

async function distribute(env: NodeJS.ProcessEnv, shards: number | undefined, apply: boolean, progress: Progress) {
  const [{ applyDistribution, readDistributionPlan }, { acquireLock }, { migrateSchema }] = await Promise.all([
    import('../../lib/cluster/distribution.ts'),
    import('../../lib/database/migrate.ts'),
    import('../../lib/cluster/distribution.ts')
  ])
  if (readConfig(env).databaseUrl === undefined) {
    throw new AdminError('the embedded database cannot be distributed: set DATABASE_URL to a Citus coordinator')
  }
  return withAnyDatabase(env, async ({ database, sql, log }) => {
    await refuseNewer(sql)
    const plan = await readDistributionPlan(sql, shards)
    if (apply && plan.obstacles.length > 0) throw new AdminError(plan.obstacles.join('\n'))
    if (!apply) return plan
    await migrateSchema(database, log)
    await acquireLock(sql, log)
    // The plan is read again, because tables that a migration has created may already be distributed.
    const { steps } = await readDistributionPlan(sql, shards)
    const onStep = (step: PlanStep, place: number) =>
      progress.say(`${place} of ${steps.length}: ${step.table} (${describeRows(step)})`)
    await interruptible(async signal => {
      const done = await applyDistribution(sql, { ...plan, steps }, { onStep, signal })
      if (done === steps.length) return
      throw new AdminError(
        `interrupted: ${done} of ${steps.length} tables are distributed; run the command again before starting a server`
      )
    })
    return plan
  })
}

const describeRows = ({ rows, bytes }: PlanStep): string =>
  rows === undefined ? size(bytes) : `about ${counted(Math.round(rows), 'row')}, ${size(bytes)}`

const describeNode = ({ name, port }: FoundNode): string => `${name}:${port}`

function describePlan({ obstacles, steps, done, nodes }: DistributionPlan, apply: boolean): string {
  const where = nodes.filter(({ holdsShards }) => holdsShards).map(describeNode)
  if (apply) {
    return steps.length === 0
      ? 'all tables are already distributed'
      : `distributed ${counted(steps.length, 'table')} across ${where.join(', ')}: you can start the servers`
  }
  const work = steps.map(step => `  ${step.table} (${describeRows(step)}), ${describeShards(step)}`)
  return [
    ...obstacles,
    steps.length === 0
      ? 'All tables are already distributed.'
      : `Would be distributed across ${where.join(', ') || 'nodes'}:`,
    ...work,
    ...(done.length > 0 && steps.length > 0 ? [`Already distributed: ${done.join(', ')}.`] : []),
    ...(steps.length > 0 ? ['Nothing was changed. Stop all servers, then add --apply to distribute the tables.'] : [])
  ].join('\n')
}

const describeShards = ({ shards, beside }: PlanStep): string =>
  shards === undefined ? `colocated with ${beside}` : counted(shards, 'shard')
