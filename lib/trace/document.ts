/**
 * Builds documents: normalised client content as canonical JSON, with members in RFC 8785 order. Documents with the
 * same SHA-256 hash count as identical. The document's byte length, with numbers spelled as sent, counts towards size
 * limits and estimatedBytes. Key order does not affect the length.
 */
import { hash } from 'node:crypto'
import type { PreparedEnd, PreparedSpan, TraceFields, UsageFields } from './prepared.ts'

export const sha256 = (data: string | Uint8Array): string => hash('sha256', data)

/** Formats an object member followed by a comma, or an empty string if the value is absent. */
const member = (key: string, json: string | undefined): string => (json === undefined ? '' : `"${key}":${json},`)
/** Formats an object member preceded by a comma, or an empty string if the value is absent. */
const next = (key: string, json: string | undefined): string => (json === undefined ? '' : `,"${key}":${json}`)
const text = (value: string | null): string | undefined => (value === null ? undefined : JSON.stringify(value))
/** Formats a finite number as JSON.stringify does. */
const number = (value: number | null): string | undefined => (value === null ? undefined : String(value))
const object = (members: string): string => `{${members.slice(0, -1)}}`

export function usageDocument(usage: UsageFields): string {
  const { inputTokens, outputTokens, totalTokens } = usage
  // Fast path: most clients send all three counts.
  if (inputTokens !== null && outputTokens !== null && totalTokens !== null) {
    return `{"inputTokens":${inputTokens},"outputTokens":${outputTokens},"totalTokens":${totalTokens}}`
  }
  return object(
    member('inputTokens', number(inputTokens)) +
      member('outputTokens', number(outputTokens)) +
      member('totalTokens', number(totalTokens))
  )
}

type Canonical<K extends string> = Readonly<Record<K, string>>

/** A span's fields in canonical form. Free-form JSON is canonical JSON text. */
type SpanDocument = Omit<PreparedSpan, 'hash' | 'bytes' | Free | keyof UsageFields> &
  Canonical<Free> & {
    /** The span's usage; undefined if the span reports none. */
    readonly usage: string | undefined
  }
type Free = 'attributes' | 'events' | 'input' | 'output'

export function spanDocument(span: SpanDocument): string {
  return (
    `{"attributes":${span.attributes}` +
    next('costUsd', number(span.costUsd)) +
    `,"endedAt":"${span.endedAt}","events":${span.events},"id":"${span.id}","input":${span.input},"kind":"${span.kind}"` +
    next('model', text(span.model)) +
    `,"name":${JSON.stringify(span.name)},"output":${span.output},` +
    `"parentSpanId":${span.parentId === null ? 'null' : `"${span.parentId}"`}` +
    next('provider', text(span.provider)) +
    `,"startedAt":"${span.startedAt}","status":"${span.status}"` +
    next('usage', span.usage) +
    '}'
  )
}

/** A document with a span list, split into the text before and after the list's items. */
interface DocumentFrame {
  readonly head: string
  readonly tail: string
}

/** A trace's fields in canonical form. Free-form JSON is canonical JSON text. The document omits null fields. */
type TraceDocument = Omit<TraceFields, 'status' | 'tags' | 'metadata' | keyof UsageFields> &
  Canonical<'id' | 'input' | 'output' | 'metadata' | 'tags' | 'usage'> & { readonly status: string | null }

export function traceDocument(trace: TraceDocument): DocumentFrame {
  return {
    head:
      '{' +
      member('costUsd', number(trace.costUsd)) +
      member('endedAt', text(trace.endedAt)) +
      `"id":"${trace.id}","input":${trace.input},"metadata":${trace.metadata}` +
      next('model', text(trace.model)) +
      `,"name":${JSON.stringify(trace.name)},"output":${trace.output}` +
      next('provider', text(trace.provider)) +
      next('sessionId', text(trace.sessionId)) +
      ',"spans":[',
    tail:
      `],"startedAt":"${trace.startedAt}"` +
      next('status', text(trace.status)) +
      `,"tags":${trace.tags},"usage":${trace.usage}` +
      next('userId', text(trace.userId)) +
      '}'
  }
}

/** An end body's fields in canonical form. Fields that the client did not send are undefined. */
type EndDocument = Pick<PreparedEnd, 'costUsd' | 'endedAt' | 'metadata' | 'model' | 'provider' | 'status'> &
  Canonical<'tags'> & { readonly output: string | undefined; readonly usage: string | undefined }

export function endDocument(end: EndDocument): DocumentFrame {
  return {
    head:
      '{' +
      member('costUsd', number(end.costUsd ?? null)) +
      `"endedAt":"${end.endedAt}"` +
      next('metadata', end.metadata) +
      next('model', text(end.model ?? null)) +
      next('output', end.output) +
      next('provider', text(end.provider ?? null)) +
      ',"spans":[',
    tail: `],"status":"${end.status}","tags":${end.tags}${next('usage', end.usage)}}`
  }
}

/** Returns the number of UTF-8 bytes that a member adds to a document with other members: key, value and comma. */
export function memberBytes(key: string, json: string | undefined): number {
  return Buffer.byteLength(member(key, json))
}
