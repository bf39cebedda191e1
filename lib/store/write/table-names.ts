/** What the tables are called that a batch writes to: as in sql/, or, on a node of a cluster, as the shards there. */
import { BATCHED_TABLES } from '../instance/tables.ts'
import type { Shard } from '../server/shards.ts'

type Table = (typeof BATCHED_TABLES)[number]

export interface TableNames {
  readonly tables: Readonly<Record<Table, string>>
  /** The end of the names of statements that were prepared for these tables. */
  readonly suffix: string
}

const SCHEMA: TableNames = {
  tables: Object.fromEntries(BATCHED_TABLES.map(table => [table, table])) as TableNames['tables'],
  suffix: ''
}

/** Whether all tables that batches write to have a shard there. */
export const isComplete = ({ tables }: Shard): boolean => BATCHED_TABLES.every(table => tables[table] !== undefined)

/** Of a shard that is complete; undefined: the names of the schema. */
export function namesIn(shard: Shard | undefined): TableNames {
  return shard === undefined ? SCHEMA : { tables: shard.tables as TableNames['tables'], suffix: `_${shard.id}` }
}
