/**
 * Stores log records that refer to a span or describe a span's call, together with that span. Other records are
 * accepted and counted, because libraries send all log records to the address that receives their spans.
 */
import type { App } from '../../lib/app.ts'
import { LogsReply, LogsRequest } from '../../lib/schema/otlp.ts'
import { addMessages } from '../../lib/store/trace/messages.ts'
import { signalRoute } from './signal.ts'

export default function logs(app: App) {
  app.route(
    signalRoute({
      path: '/api/v1/otlp/v1/logs',
      operation: 'recordOtlpLogs',
      grpc: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
      summary: 'Record messages, events and coding agent calls from OpenTelemetry log records',
      description:
        'Records that carry the messages of a model call (`gen_ai.user.message`, `gen_ai.choice`, ' +
        '`gen_ai.client.inference.operation.details` and similar) are shown as input and output of the span they ' +
        'refer to, if it has none of its own. Other records that refer to a span become its events. Records from ' +
        'coding agents (Claude Code, Codex, Gemini CLI, Qwen Code) fill in the spans of their calls, or create the ' +
        'trace. The order of arrival does not matter, but a record whose span does not arrive within ten minutes is ' +
        'dropped. Records that are not kept are counted in `partialSuccess` once an hour for each name.',
      request: 'ExportLogsServiceRequest',
      reply: 'ExportLogsServiceResponse',
      body: LogsRequest,
      replyBody: LogsReply,
      outcome: 'Each record was either stored, or dropped and counted under its name.',
      errors: ['invalid_request', 'trial_limit_reached', 'unavailable'],
      rejected: 'rejectedLogRecords',
      async take({ key, payload }, encoding) {
        const { projectId } = key
        const { messages, events, steps, unplaced, others, unkept } = await app.bodies.parse(
          `logs-${encoding}`,
          payload,
          projectId
        )
        const added = [...messages, ...events]
        if (added.length > 0) await app.sql.write(sql => addMessages(sql, projectId, added))
        const exported = steps === undefined ? NONE_REJECTED : await app.ingest.exportSteps(key, steps)
        app.metrics.countLogRecords({ messages: messages.length, events: events.length, unplaced, others })
        const news = describeUnkept(unkept, app.unkept.add(projectId, 'logs', unkept))
        const refused = unplaced === 0 ? '' : `${unplaced} rejected: messages must have the ids of a trace and a span`
        const said = [refused, exported.message, news.message].filter(Boolean).join('; ')
        return { rejected: unplaced + exported.rejectedSpans + news.count, message: said }
      }
    })
  )
}

const NONE_REJECTED = { rejectedSpans: 0, message: '' }

/** Maximum number of names in a message. */
const MOST_NAMED = 10

/** Counts the unkept records that have one of the given names, and describes the loss in a message for the sender. */
function describeUnkept(unkept: ReadonlyMap<string, number>, names: readonly string[]) {
  const count = names.reduce((sum, name) => sum + (unkept.get(name) ?? 0), 0)
  if (count === 0) return { count, message: '' }
  const named = names.slice(0, MOST_NAMED).map(name => `${unkept.get(name)} ${name}`)
  const more = names.length > MOST_NAMED ? ', …' : ''
  const records = count === 1 ? '1 log record' : `${count} log records`
  const rule = 'a log record is kept if it refers to a span, or to a session and call of a coding agent'
  const repeat = 'each name is reported at most once an hour'
  return { count, message: `${records} not kept (${named.join(', ')}${more}): ${rule}; ${repeat}` }
}
