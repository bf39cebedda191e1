/**
 * Queries Citus about a database and its nodes, and distributes tables over the nodes. Implements `spoor migrate
 * --distributed`, which spreads the trace tables over the nodes of a Citus cluster.
 */
import type { Sql } from 'postgres'
import type { Database } from '../database/database.ts'
import { migrate, statementsOf } from '../database/migrate.ts'
import { PROJECT_TABLES, type ProjectTable } from '../database/tables.ts'
import type { Logger } from '../log.ts'
import { inTransaction } from '../store/transactions.ts'
import { type DistributionPlan, type FoundNode, type FoundTable, type PlanStep, planDistribution } from './plan.ts'
import { DISTRIBUTION_COLUMN, isSpread } from './shards.ts'

async function readCitus(sql: Sql): Promise<{ version: string | undefined; isAvailable: boolean }> {
  const [row] = await sql<[{ version: string | null; isAvailable: boolean }]>`
    select (select extversion from pg_extension where extname = 'citus') as version,
      exists (select from pg_available_extensions where name = 'citus') as "isAvailable"`
  return { version: row.version ?? undefined, isAvailable: row.isAvailable }
}

/** Returns the cluster's nodes, coordinator first. Requires Citus. */
async function readNodes(sql: Sql): Promise<FoundNode[]> {
  const hindrances = await readHindrances(sql)
  const nodes = await sql<Omit<FoundNode, 'hindrance'>[]>`
    select nodename as name, nodeport as port, isactive as "isActive", groupid = 0 as "isCoordinator",
      shouldhaveshards as "holdsShards"
    from pg_dist_node where noderole = 'primary' order by groupid <> 0, nodename, nodeport`
  return nodes.map(node => ({
    ...node,
    hindrance: hindrances.find(({ name, port }) => name === node.name && port === node.port)?.hindrance
  }))
}

/** Returns the workers on which this role cannot create tables in its schema, and the reason for each. */
async function readHindrances(sql: Sql): Promise<{ name: string; port: number; hindrance: string }[]> {
  const [{ schema, role }] = await sql<[{ schema: string; role: string }]>`
    select current_schema() as schema, current_user as role`
  const question = `select case when has_schema_privilege('${escaped(role)}', '${escaped(schema)}', 'create')
    then '' else 'the role ${escaped(escaped(role))} may not create tables there' end`
  return sql`
    select nodename as name, nodeport as port,
      case when success then result else 'it cannot be asked: ' || result end as hindrance
    from run_command_on_workers(${question}) where not success or result <> ''`
}

const escaped = (text: string): string => text.replaceAll("'", "''")

interface TableRow extends Omit<FoundTable, 'rows' | 'distributed'> {
  readonly rows: number | null
  /** Distribution column; null if the table is not distributed. */
  readonly column: string | null
  readonly shards: number | null
  readonly colocation: number | null
}

/** Returns the project tables in order. Omits tables that do not exist. */
export async function readTables(sql: Sql): Promise<TableRow[]> {
  const { version } = await readCitus(sql)
  const distribution =
    version === undefined
      ? sql`(
          select null::oid as logicalrelid, null::text as "column", null::int as colocationid, null::int as shards
          where false
        )`
      : sql`(
          select p.logicalrelid::oid, column_to_column_name(p.logicalrelid, p.partkey) as "column", p.colocationid,
            (select count(*)::int from pg_dist_shard s where s.logicalrelid = p.logicalrelid) as shards
          from pg_dist_partition p where p.partmethod = 'h'
        )`
  return sql<TableRow[]>`
    select c.relname as name, nullif(c.reltuples, -1)::float8 as rows, pg_relation_size(c.oid) as "localBytes",
      pg_has_role(c.relowner, 'usage') as "isOurs", d."column", d.shards, d.colocationid as colocation
    from unnest(${PROJECT_TABLES as readonly string[] as string[]}::text[]) with ordinality as wanted (name, place)
    join pg_class c on c.oid = to_regclass(wanted.name)
    left join ${distribution} d on d.logicalrelid = c.oid
    order by wanted.place`
}

/** Returns the names of the connections that other spoor processes have to this database. */
async function readOthers(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select application_name as name from pg_stat_activity
    where datname = current_database() and application_name like 'spoor[%' and pid <> pg_backend_pid()
    order by 1`
  return rows.map(({ name }) => name)
}

/**
 * Copies a table to the nodes and empties the coordinator's copy. Must run in a transaction. Until the transaction
 * ends, writes to the table are blocked.
 */
async function distributeTable(
  sql: Sql,
  table: ProjectTable,
  { beside, shards }: { readonly beside: ProjectTable | undefined; readonly shards: number | undefined }
): Promise<void> {
  await nameRows(sql, table)
  if (beside === undefined) {
    await sql`
      select create_distributed_table(
        ${table}, ${DISTRIBUTION_COLUMN}, colocate_with => 'none', shard_count => ${shards ?? null}::int
      )`
  } else await sql`select create_distributed_table(${table}, ${DISTRIBUTION_COLUMN}, colocate_with => ${beside})`
  await sql`select truncate_local_data_after_distributing_table(${table})`
}

/**
 * Sets the replica identity. Citus can move a shard during writes only if the shard's rows are identifiable, either by
 * a primary key or by the rows' full content.
 */
async function nameRows(sql: Sql, table: string): Promise<void> {
  const [key] = await sql`select from pg_index where indrelid = ${table}::regclass and indisprimary`
  if (key === undefined) await sql`alter table ${sql(table)} replica identity full`
}

/**
 * Returns tables of trace data that are not distributed although traces are distributed; empty on a single PostgreSQL
 * server.
 */
export async function readLeftBehind(sql: Sql): Promise<string[]> {
  if (!(await isSpread(sql))) return []
  return (await readTables(sql)).filter(({ column }) => column === null).map(({ name }) => name)
}

/**
 * Runs a migration's text and, if traces are distributed, distributes the tables that the migration creates. Must run
 * in one transaction, so that no server finds a new table undistributed. Existing tables are not moved.
 */
export async function distributeNew(sql: Sql, text: string): Promise<void> {
  if (!(await isSpread(sql))) {
    await sql.unsafe(text)
    return
  }
  const before = (await readTables(sql)).map(({ name }) => name)
  // Uses one connection per node, because later statements would not see changes made over parallel connections.
  await sql`set local citus.multi_shard_modify_mode = 'sequential'`
  // Runs statements one by one, because the coordinator forwards a command's full text to the nodes.
  for (const statement of statementsOf(text)) await sql.unsafe(statement)
  for (const { name } of await readTables(sql)) {
    if (!before.includes(name)) await distributeTable(sql, name, { beside: 'traces', shards: undefined })
  }
}

/**
 * Describes tables that were left on the coordinator when other tables were distributed, and the remedy; undefined if
 * there are no such tables, or on a single PostgreSQL server. No spoor server may run in this state, because charts
 * would be wrong, and a write to both kinds of table would be committed on the node before it is committed on the
 * coordinator.
 */
export const findLeftBehind = async (sql: Sql): Promise<string | undefined> =>
  describeLeftBehind(await readLeftBehind(sql))

export function describeLeftBehind(tables: readonly string[]): string | undefined {
  if (tables.length === 0) return undefined
  const which = tables.length === 1 ? `the table ${tables[0]} is` : `the tables ${tables.join(', ')} are`
  return `${which} not distributed, but traces are: stop every server, and run \`spoor migrate --distributed --apply\``
}

/**
 * Like `migrate` (lib/database/migrate.ts), but if traces are distributed, also distributes the tables that a migration
 * creates, in the migration's transaction. `folder` replaces sql/ in tests.
 */
export const migrateSchema = (database: Database, log: Logger, folder?: string): Promise<number[]> =>
  migrate(database, log, folder, distributeNew)

/** Inspects the database and its nodes, and plans the distribution. Changes nothing. */
export async function readDistributionPlan(sql: Sql, shards?: number): Promise<DistributionPlan> {
  const { version: citus, isAvailable } = await readCitus(sql)
  const rows = new Map((await readTables(sql)).map(row => [row.name, row]))
  const tables = PROJECT_TABLES.map(name => foundTable(name, rows.get(name)))
  const nodes = citus === undefined ? [] : await readNodes(sql)
  return planDistribution({ citus, isAvailable, nodes, tables, users: await readOthers(sql) }, shards)
}

/** Treats a table that does not exist yet as empty. */
function foundTable(name: ProjectTable, row: TableRow | undefined): FoundTable {
  if (row === undefined) return { name, rows: 0, localBytes: 0, isOurs: true, distributed: undefined }
  const { rows, localBytes, isOurs, column, shards, colocation } = row
  const distributed = column === null ? undefined : { column, shards: shards ?? 0, colocation: colocation ?? 0 }
  return { name, rows: rows ?? undefined, localBytes, isOurs, distributed }
}

export interface DistributionOptions {
  /** Called before each table. */
  readonly onStep?: (step: PlanStep, place: number) => void
  /** When aborted, stops the distribution after the current table. */
  readonly signal?: AbortSignal
}

/**
 * Applies a plan table by table. Returns the number of applied steps. All steps are applied unless the work is aborted.
 * Applied steps are permanent; running the command again continues with the rest.
 */
export async function applyDistribution(
  sql: Sql,
  { obstacles, steps }: DistributionPlan,
  { onStep, signal }: DistributionOptions = {}
): Promise<number> {
  if (obstacles.length > 0) throw new Error(obstacles.join('\n'))
  for (const [i, step] of steps.entries()) {
    if (signal?.aborted) return i
    onStep?.(step, i + 1)
    await inTransaction(sql, () => distributeTable(sql, step.table, step))
  }
  return steps.length
}
