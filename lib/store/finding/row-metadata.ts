/** Reads the metadata of traces for lists. */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'

/** Maximum size of a trace's metadata that is read for a list, in bytes. */
const MOST_BYTES = 65_536
const HAS_VALUES = `octet_length(metadata::text) between 3 and ${MOST_BYTES}`
/** Number of newest traces whose metadata is read for suggestions. */
export const NEWEST_METADATA = 200

type Metadata = Readonly<Record<string, unknown>>

/** Returns metadata by trace id, without traces whose metadata is empty or large. */
export async function readRowMetadata(
  sql: Sql,
  projectId: number,
  seqs: readonly number[],
  names: TableNames
): Promise<ReadonlyMap<string, Metadata>> {
  if (seqs.length === 0) return new Map()
  const rows = await sql.unsafe<{ id: string; metadata: string }[]>(
    `select replace(id::text, '-', '') as id, metadata::text as metadata from ${names.traces}
    where project_id = $1 and seq = any ($2::bigint[]) and ${HAS_VALUES}`,
    [projectId, `{${seqs.join(',')}}`],
    { prepare: true }
  )
  return new Map(rows.map(({ id, metadata }) => [id, JSON.parse(metadata)]))
}

/** Returns the metadata of the newest traces that have any. */
export async function readNewestMetadata(sql: Sql, projectId: number, names: TableNames): Promise<Metadata[]> {
  const rows = await sql.unsafe<{ metadata: string }[]>(
    `select metadata::text as metadata from (
      select metadata from ${names.traces} where project_id = $1 order by started_at desc, id desc limit $2
    ) newest where ${HAS_VALUES}`,
    [projectId, NEWEST_METADATA],
    { prepare: true }
  )
  return rows.map(({ metadata }) => JSON.parse(metadata))
}
