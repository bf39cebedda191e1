/**
 * Hashes spans that are stored without a hash: those of a trace that was recorded whole (`TraceSpan` in
 * lib/trace/prepared.ts). Only an import compares such spans, with a line whose content is not the recorded body: the
 * trace was patched, or the line was edited. Each trace is exported and prepared like a line of an import, so equal
 * spans have equal hashes.
 */
import type { Sql } from 'postgres'
import { type SpanHead, shortHash } from '../../trace/prepared.ts'
import { prepareRestore } from '../../trace/restore.ts'
import { fetchExportPage, renderExportPage, renderLongTrace } from '../answers/export-page.ts'

interface StoredTrace {
  readonly projectId: number
  readonly traceId: string
}

/** Short hashes, by span id. */
type SpanHashes = ReadonlyMap<string, string>
export const hashesOf = (spans: readonly SpanHead[]): SpanHashes =>
  new Map(spans.map(span => [span.id, shortHash(span)]))

const LINE_END = 10

/** Returns the hashes of each trace's spans. A trace that has been deleted has no entry. */
export async function hashStoredSpans<T extends StoredTrace>(
  sql: Sql,
  traces: readonly T[]
): Promise<Map<T, SpanHashes>> {
  const found = new Map<T, SpanHashes>()
  for (const projectId of new Set(traces.map(trace => trace.projectId))) {
    const own = new Map(traces.filter(trace => trace.projectId === projectId).map(trace => [trace.traceId, trace]))
    const ids = [...own.keys()]
    for (let page = await fetchExportPage(sql, projectId, { ids }); page !== undefined; ) {
      const lines = page.isLong
        ? await readLongTrace(sql, projectId, page.last.id)
        : (await renderExportPage(sql, projectId, page)).lines
      for (let from = 0; from < lines.length; ) {
        const end = lines.indexOf(LINE_END, from)
        const { traceId, spans } = prepareRestore(lines.subarray(from, end))
        found.set(own.get(traceId) as T, hashesOf(spans))
        from = end + 1
      }
      page = await fetchExportPage(sql, projectId, { ids }, page.last)
    }
  }
  return found
}

/** Returns the line of a trace to which an import added spans, because a request is not that long. */
async function readLongTrace(sql: Sql, projectId: number, traceId: string): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const { lines } of renderLongTrace(sql, projectId, traceId)) pieces.push(lines)
  return Buffer.concat(pieces)
}
