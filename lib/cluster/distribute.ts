/** Implements `spoor migrate --distributed`, which spreads the trace tables over the nodes of a Citus cluster. */
import type { Sql } from 'postgres'
import { PROJECT_TABLES, type ProjectTable } from '../database/tables.ts'
import { inTransaction } from '../store/transactions.ts'
import {
  distributeTable,
  readCitus,
  readHindrances,
  readNodes,
  readOthers,
  readTables,
  type TableRow
} from './distribution.ts'
import {
  type DistributionPlan,
  type FoundCluster,
  type FoundNode,
  type FoundTable,
  type PlanStep,
  planDistribution
} from './plan.ts'

/** Inspects the database and its nodes, and plans the distribution. Changes nothing. */
export async function readDistributionPlan(sql: Sql, shards?: number): Promise<DistributionPlan> {
  return planDistribution(await findCluster(sql), shards)
}

async function findCluster(sql: Sql): Promise<FoundCluster> {
  const { version, isAvailable } = await readCitus(sql)
  const tables = await readTables(sql, PROJECT_TABLES)
  return {
    citus: version,
    isAvailable,
    nodes: version === undefined ? [] : await findNodes(sql),
    tables: PROJECT_TABLES.map(name =>
      foundTable(
        name,
        tables.find(table => table.name === name)
      )
    ),
    users: await readOthers(sql)
  }
}

/** Treats a table that does not exist yet as empty. */
function foundTable(name: ProjectTable, row: TableRow | undefined): FoundTable {
  if (row === undefined) return { name, rows: 0, localBytes: 0, isOurs: true, distributed: undefined }
  const { rows, localBytes, isOurs, column, shards, colocation } = row
  const distributed = column === null ? undefined : { column, shards: shards ?? 0, colocation: colocation ?? 0 }
  return { name, rows: rows ?? undefined, localBytes, isOurs, distributed }
}

async function findNodes(sql: Sql): Promise<FoundNode[]> {
  const hindrances = await readHindrances(sql)
  return (await readNodes(sql)).map(node => ({
    ...node,
    hindrance: hindrances.find(({ name, port }) => name === node.name && port === node.port)?.hindrance
  }))
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
