/** Reads a whole trace for a response: a small trace immediately, a large trace when it is the project's turn. */
import type { App } from '../../lib/app.ts'
import type { Client } from '../../lib/database/pooled/cancellation.ts'
import { found } from '../../lib/http/refuse.ts'
import { JsonPieces, JsonStream } from '../../lib/http/route.ts'
import { SMALL_READ_BYTES, STREAMED_BYTES } from '../../lib/limits/large-reads.ts'
import type { ListWriter } from '../../lib/limits/list-writer.ts'
import type { PartTexts } from '../../lib/store/answers/trace-json.ts'
import { fetchTrace, measureTrace, renderPieces, streamTrace } from '../../lib/store/answers/traces.ts'

/** Rejects with `not_found` if the project has no such trace. */
export async function readWhole(
  app: App,
  projectId: number,
  traceId: string,
  parts: PartTexts,
  client: Client
): Promise<JsonPieces | JsonStream> {
  const { sql, largeReads } = app
  const fetch = (most?: number) =>
    sql.readOf(projectId, (each, names) => fetchTrace(each, projectId, traceId, names, most), client)
  const small = await fetch(SMALL_READ_BYTES)
  if (small !== undefined) return new JsonPieces(await renderPieces(small, parts))
  const weight = found(
    await sql.readOf(projectId, (each, names) => measureTrace(each, projectId, traceId, names), client)
  )
  if (weight > STREAMED_BYTES) return streamWhole(app, projectId, traceId, parts, client)
  const read = async () => new JsonPieces(await renderPieces(found(await fetch()), parts))
  return largeReads.run(projectId, read, { weight, client })
}

function streamWhole(
  { sql, streams }: App,
  projectId: number,
  traceId: string,
  parts: PartTexts,
  client: Client
): JsonStream {
  return new JsonStream((writer, needs) => {
    let hasBegun = false
    const once: ListWriter = {
      head(text) {
        hasBegun = true
        return writer.head(text)
      },
      item: (text, bytes) => writer.item(text, bytes),
      foot: text => writer.foot(text)
    }
    const read = () =>
      sql.read(each => {
        // If the connection is lost, the read is repeated on another connection. Once part of the trace has been sent,
        // repeating the read would send that part twice.
        if (hasBegun) throw new Error('the connection was lost while a trace was being sent')
        return streamTrace(each, projectId, traceId, parts, once, needs)
      }, client)
    const send = async () => void found((await read()) || undefined)
    return streams.run(projectId, send, { client })
  })
}
