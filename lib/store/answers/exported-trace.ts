/**
 * Renders one line of an export. The line contains the trace detail in the format of responses, the id of the key that
 * recorded the trace, and, in the `recorded` member, data that only a restore needs. lib/schema/export-line.ts
 * describes how lines are read.
 */
import { usageDocument } from '../../trace/document.ts'
import type { UsageFields } from '../../trace/prepared.ts'
import type { SpanMessages } from '../../trace/span-messages.ts'
import { isCutText } from '../../trace/states/cut-texts.ts'
import { plain } from './json-text.ts'
import { renderScore, type ScoreRow } from './score-json.ts'
import { detailMembers, environmentMember, renderSpan, type SpanRow, type StoredTraceRow } from './trace-json.ts'

export interface ExportedRow extends StoredTraceRow {
  readonly keyId: string | null
  readonly endHash: string | null
  /** Ranks of the trace's fields, JSON-encoded. */
  readonly ranks: string | null
}

/** A span's columns in an export. */
export interface ExportedSpan extends SpanRow {
  /** Call details as JSON text. */
  readonly callDetails: string | null
  /** The stored hash, in hexadecimal. */
  readonly hash: string
}

/** Renders one line, without the trailing line break. Free-form JSON is stored without line breaks. */
export function renderExportLine(
  trace: ExportedRow,
  spans: readonly ExportedSpan[],
  scores: readonly ScoreRow[],
  messages: readonly SpanMessages[] = []
): string {
  const rendered = spans.map(span => renderSpan(span, trace.id)).join(',')
  const [before, after] = footAround(trace, spans.map(factsOf), scores, messages.length > 0)
  return `${renderLineHead(trace, scores)}${rendered}${before}${messages.map(renderMessage).join(',')}${after}`
}

/** Renders the beginning of a line, up to its first span. */
export function renderLineHead(trace: ExportedRow, scores: readonly ScoreRow[]): string {
  // The member is omitted if no environment was ever recorded. A restore can then distinguish a missing environment
  // from "unassigned", which responses show as null.
  const environment = trace.environment === null ? '' : environmentMember(trace)
  return `{"trace":{${detailMembers(trace, scores, environment)},"keyId":${plain(trace.keyId)}},"spans":[`
}

/** Fields of a span that a line contains after the last span. */
export interface SpanFacts extends UsageFields, Pick<ExportedSpan, 'id' | 'callDetails'> {
  /** The span's hash. Set only if the span's texts were cut, because the hash cannot be computed from cut texts. */
  readonly hash: string | undefined
}

export const factsOf = ({ id, callDetails, hash, attributes, ...usage }: ExportedSpan): SpanFacts => ({
  id,
  callDetails,
  hash: isCutText(attributes) ? hash : undefined,
  inputTokens: usage.inputTokens,
  outputTokens: usage.outputTokens,
  totalTokens: usage.totalTokens
})

/**
 * Renders the end of a line, after its last span, as two strings. The messages of the trace, if any, belong between the
 * two strings.
 */
export function footAround(
  trace: ExportedRow,
  spans: readonly SpanFacts[],
  scores: readonly ScoreRow[],
  hasMessages: boolean
): [before: string, after: string] {
  const rendered = scores.map(score => renderScore(score, trace.id)).join(',')
  const members = recordedMembers(trace, spans)
  const before = `],"scores":[${rendered}]`
  if (hasMessages) return [`${before},"recorded":{${[...members, '"messages":['].join(',')}`, ']}}']
  return [`${before}${members.length === 0 ? '' : `,"recorded":{${members.join(',')}}`}}`, '']
}

/** Renders members of `recorded` other than messages. None are needed if the detail shows all that was recorded. */
function recordedMembers(trace: ExportedRow, spans: readonly SpanFacts[]): string[] {
  const members: string[] = []
  if (!isShownAsSent(trace)) members.push(`"usage":${usageDocument(trace)}`)
  const usage = spans.filter(span => !isAbsent(span) && !isShownAsSent(span))
  if (usage.length > 0) {
    members.push(`"spanUsage":{${usage.map(span => `"${span.id}":${usageDocument(span)}`).join(',')}}`)
  }
  if (trace.endHash !== null) members.push(`"endHash":"${trace.endHash}"`)
  if (trace.ranks !== null) members.push(`"ranks":${trace.ranks}`)
  const details = spans.flatMap(({ id, callDetails }) => (callDetails === null ? [] : [`"${id}":${callDetails}`]))
  if (details.length > 0) members.push(`"callDetails":{${details.join(',')}}`)
  const hashes = spans.flatMap(({ id, hash }) => (hash === undefined ? [] : [`"${id}":"${hash}"`]))
  if (hashes.length > 0) members.push(`"spanHashes":{${hashes.join(',')}}`)
  return members
}

export function renderMessage(message: SpanMessages): string {
  const { spanId, micros, place, digest, input, output, event, facts, call } = message
  const more = `${event == null ? '' : `,"event":${event}`}${facts == null ? '' : `,"facts":${facts}`}`
  const named = call == null ? '' : `,"call":${plain(call)}`
  const own = `"spanId":"${spanId}","micros":${micros},"place":${place},"digest":"${digest}"`
  return `{${own},"input":${input},"output":${output}${more}${named}}`
}

/** Whether the trace detail shows the usage exactly as sent. If counts are missing, responses fill them in. */
function isShownAsSent({ inputTokens, outputTokens, totalTokens }: UsageFields): boolean {
  return inputTokens !== null && outputTokens !== null && totalTokens !== null
}

/** Whether the span has no usage at all, which the trace detail shows as null. */
function isAbsent({ inputTokens, outputTokens, totalTokens }: UsageFields): boolean {
  return inputTokens === null && outputTokens === null && totalTokens === null
}
