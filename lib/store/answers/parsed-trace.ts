/** Reads a trace for code rather than for a response. */
import type { Sql } from 'postgres'
import { STREAMED_BYTES } from '../../limits/large-reads.ts'
import type { ListWriter } from '../../limits/list-writer.ts'
import { DETAIL_PARTS } from './trace-json.ts'
import { fetchTrace, renderDetail, streamTrace } from './traces.ts'

type Parsed = Readonly<Record<string, unknown>>

/** The trace detail as an object. */
export interface ParsedTrace {
  readonly trace: Parsed
  readonly spans: readonly Parsed[]
  readonly scores: readonly Parsed[]
}

/**
 * Returns the parsed trace detail; undefined if the project has no such trace. The JSON of a long trace is parsed part
 * by part, so that it is never in memory as a whole.
 */
export async function readParsedTrace(sql: Sql, projectId: number, traceId: string): Promise<ParsedTrace | undefined> {
  const fetched = await fetchTrace(sql, projectId, traceId, undefined, STREAMED_BYTES)
  if (fetched !== undefined) return JSON.parse(Buffer.concat(await renderDetail(fetched)).toString()) as ParsedTrace
  const ends: string[] = []
  const spans: Parsed[] = []
  const writer: ListWriter = {
    head: async text => void ends.push(decode(text)),
    item: async text => void spans.push(JSON.parse(decode(text))),
    foot: async text => void ends.push(decode(text))
  }
  if (!(await streamTrace(sql, projectId, traceId, DETAIL_PARTS, writer))) return undefined
  return { ...(JSON.parse(ends.join('')) as ParsedTrace), spans }
}

const decode = (part: string): string => Buffer.from(part, 'latin1').toString()
