/** Reads the first error of traces, by the traces' ids. */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES } from '../../database/tables.ts'
import { readFoundSummaries } from './found-summaries.ts'

interface FirstErrorOfTrace {
  readonly spanId: string
  readonly step: string
  readonly kind: string
  readonly type: string | null
  readonly message: string | null
}

/** Traces without a failed step are left out. */
export async function readFirstErrors(
  sql: Sql,
  projectId: number,
  ids: readonly string[]
): Promise<Readonly<Record<string, FirstErrorOfTrace>>> {
  if (ids.length === 0) return {}
  const rows = await sql<{ seq: number; id: string }[]>`
    select seq, id from traces where project_id = ${projectId} and id = any (${ids as string[]}::uuid[])`
  const found = rows.map(({ seq, id }) => ({ seq, id, excerpt: undefined }))
  const traces = JSON.parse(await readFoundSummaries(sql, projectId, found, SCHEMA_NAMES)) as {
    readonly id: string
    readonly firstError: FirstErrorOfTrace | null
  }[]
  return Object.fromEntries(traces.flatMap(({ id, firstError }) => (firstError === null ? [] : [[id, firstError]])))
}
