/** Routes that record a trace as a whole, or that start a trace, append spans to it and end it. */
import type { App } from '../../lib/app.ts'
import type { ErrorCode } from '../../lib/errors.ts'
import { EndBody, IngestBody, SpansBody } from '../../lib/schema/input.ts'
import { SpansAppended, TraceEnded, TraceRecorded } from '../../lib/schema/output.ts'

/** Error codes of a rejected append or end. */
const NO_CHANGE: readonly ErrorCode[] = [
  ...(['invalid_trace', 'forbidden', 'trace_id_conflict', 'trace_finished', 'span_conflict'] as const),
  ...(['payload_too_large', 'quota_exhausted'] as const)
]

export default function record(app: App) {
  app.route({
    method: 'POST',
    path: '/api/v1/traces',
    operation: 'recordTrace',
    access: 'traces:write',
    summary: 'Record a trace, or start one',
    description:
      'A body with `trace.endedAt` records a complete trace. Without it, the request starts a running trace that ' +
      'accepts spans until it is ended. Resending the same body returns 200 with `duplicate: true`; different ' +
      'content returns 409.',
    body: IngestBody,
    takesBody: true,
    replies: { 200: TraceRecorded, 201: TraceRecorded },
    outcomes: { 200: 'The same body was already stored; nothing was written.', 201: 'Stored.' },
    links: { getTrace: { traceId: '/traceId' } },
    errors: ['invalid_trace', 'trial_limit_reached', 'trace_id_conflict', 'payload_too_large', 'quota_exhausted'],
    async handler({ key, payload, requestId }) {
      const { traceId, spanCount, duplicate, running } = await app.ingest.record(key, payload)
      const projectId = String(key.projectId)
      const body = { ok: true, traceId, projectId, spanCount, duplicate, running, requestId }
      return { status: duplicate ? 200 : 201, body }
    }
  })

  app.route({
    method: 'POST',
    path: '/api/v1/traces/:traceId/spans',
    operation: 'appendSpans',
    access: 'traces:write',
    summary: 'Append finished spans to a running trace',
    description:
      'Either all spans are written or none. Spans that are already stored with identical content are counted as ' +
      '`duplicate`.',
    body: SpansBody,
    takesBody: true,
    replies: { 200: SpansAppended },
    errors: NO_CHANGE,
    async handler({ key, traceId, payload, requestId }) {
      const { added, duplicate, spanCount } = await app.ingest.append(key, traceId, payload)
      return { body: { ok: true, traceId, added, duplicate, spanCount, requestId } }
    }
  })

  app.route({
    method: 'POST',
    path: '/api/v1/traces/:traceId/end',
    operation: 'endTrace',
    access: 'traces:write',
    summary: 'End a running trace',
    description:
      'Fields in the request replace those sent at the start; `metadata` is merged, `tags` are added, and `spans` ' +
      'are a final batch. Resending the same body returns 200 with `duplicate: true`.',
    body: EndBody,
    takesBody: true,
    replies: { 200: TraceEnded },
    errors: NO_CHANGE,
    async handler({ key, traceId, payload, requestId }) {
      const { duplicate, spanCount } = await app.ingest.end(key, traceId, payload)
      return { body: { ok: true, traceId, duplicate, spanCount, requestId } }
    }
  })
}
