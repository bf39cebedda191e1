/** Reads a whole trace for a response: a small trace at once, a large one when it is the project's turn. */
import type { App } from '../../lib/app.ts'
import type { Client } from '../../lib/database/pooled/cancellation.ts'
import { found } from '../../lib/http/refuse.ts'
import { JsonPieces } from '../../lib/http/route.ts'
import { SMALL_READ_BYTES } from '../../lib/limits/large-reads.ts'
import { type FetchedTrace, fetchTrace, measureTrace } from '../../lib/store/answers/traces.ts'

/** Rejects with `not_found` if the project has no such trace. */
export async function readWhole(
  { sql, largeReads }: App,
  projectId: number,
  traceId: string,
  render: (fetched: FetchedTrace) => Promise<readonly Uint8Array[]>,
  client: Client
): Promise<JsonPieces> {
  const fetch = (most?: number) =>
    sql.readOf(projectId, (each, names) => fetchTrace(each, projectId, traceId, names, most), client)
  const small = await fetch(SMALL_READ_BYTES)
  if (small !== undefined) return new JsonPieces(await render(small))
  const weight = found(
    await sql.readOf(projectId, (each, names) => measureTrace(each, projectId, traceId, names), client)
  )
  const read = async () => new JsonPieces(await render(found(await fetch())))
  return largeReads.run(projectId, read, { weight, client })
}
