/**
 * The line of an export: the trace detail, so that whoever reads answers can read exports, with the key that recorded the
 * trace and, under `recorded`, what only a restore needs. lib/schema/export-line.ts says how it is read.
 */
import { usageDocument } from '../../trace/document.ts'
import type { UsageFields } from '../../trace/prepared.ts'
import { plain } from './json-text.ts'
import type { ScoreRow } from './score-json.ts'
import { detailMembers, environmentMember, partMembers, type SpanRow, type TraceRow } from './trace-json.ts'

/** The columns of a trace in an export. */
export interface ExportedRow extends TraceRow {
  readonly keyId: string | null
  readonly endHash: string | null
  /** JSON text. */
  readonly ranks: string | null
}

/** One line, without the line break: free JSON is stored compact, so there is none in it. */
export function renderExportLine(trace: ExportedRow, spans: readonly SpanRow[], scores: readonly ScoreRow[]): string {
  // Left out where it was never recorded, so that it still is not after a restore; answers show null for both.
  const environment = trace.environment === null ? '' : environmentMember(trace)
  const members = `${detailMembers(trace, scores, environment)},"keyId":${plain(trace.keyId)}`
  return `{"trace":{${members}},${partMembers(trace.id, spans, scores)}${recordedMember(trace, spans)}}`
}

/** What was recorded and the detail does not show, with the comma before it; nothing where it shows everything. */
function recordedMember(trace: ExportedRow, spans: readonly SpanRow[]): string {
  const members: string[] = []
  if (!isShownAsSent(trace)) members.push(`"usage":${usageDocument(trace)}`)
  const usage = spans.filter(span => !isAbsent(span) && !isShownAsSent(span))
  if (usage.length > 0) {
    members.push(`"spanUsage":{${usage.map(span => `"${span.id}":${usageDocument(span)}`).join(',')}}`)
  }
  if (trace.endHash !== null) members.push(`"endHash":"${trace.endHash}"`)
  if (trace.ranks !== null) members.push(`"ranks":${trace.ranks}`)
  return members.length === 0 ? '' : `,"recorded":{${members.join(',')}}`
}

/** Answers derive what was not sent. */
function isShownAsSent({ inputTokens, outputTokens, totalTokens }: UsageFields): boolean {
  return inputTokens !== null && outputTokens !== null && totalTokens !== null
}

/** A span without any usage shows null. */
function isAbsent({ inputTokens, outputTokens, totalTokens }: UsageFields): boolean {
  return inputTokens === null && outputTokens === null && totalTokens === null
}
