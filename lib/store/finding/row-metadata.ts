/** Reads the metadata of listed traces. */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'

/** Maximum size of a trace's metadata that is read for a list, in bytes. */
const MOST_BYTES = 65_536

/** Returns metadata by trace id, without traces whose metadata is empty or large. */
export async function readRowMetadata(
  sql: Sql,
  projectId: number,
  seqs: readonly number[],
  names: TableNames
): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>> {
  if (seqs.length === 0) return new Map()
  const rows = await sql.unsafe<{ id: string; metadata: string }[]>(
    `select replace(id::text, '-', '') as id, metadata::text as metadata from ${names.traces}
    where project_id = $1 and seq = any ($2::bigint[]) and octet_length(metadata::text) between 3 and ${MOST_BYTES}`,
    [projectId, `{${seqs.join(',')}}`],
    { prepare: true }
  )
  return new Map(rows.map(({ id, metadata }) => [id, JSON.parse(metadata)]))
}
