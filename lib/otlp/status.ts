/** Reads a span's status. Some senders leave the status unset and report the failure in an attribute. */
import { type Json, plainNumber } from '../trace/json/exact-json.ts'
import { type Fields, groupOf } from './fields.ts'
import type { OtlpSpan } from './wire/request.ts'

type Status = 'unset' | 'ok' | 'error'

const STATUSES: readonly Status[] = ['unset', 'ok', 'error']
const HTTP_STATUSES = ['http.response.status_code', 'http.status_code']
const FINISH_REASONS = ['gen_ai.response.finish_reasons', 'ai.response.finishReason', 'gen_ai.response.finish_reason']
const FAILURES = groupOf(['error.type', 'success', ...FINISH_REASONS, ...HTTP_STATUSES])

export function readSpanStatus({ statusCode }: OtlpSpan, fields: Fields): Status {
  if (fields.get('langfuse.observation.level') === 'ERROR') return 'error'
  const status = STATUSES[statusCode] ?? 'unset'
  return status === 'unset' && fields.mentions(FAILURES) && saysFailed(fields) ? 'error' : status
}

/** Returns whether attributes state a failure. An exception event is not proof, because the step may have caught it. */
function saysFailed(fields: Fields): boolean {
  const type = fields.get('error.type')
  if (typeof type === 'string' && type !== '') return true
  const success = fields.get('success')
  if (success === false || success === 'false') return true
  for (const name of FINISH_REASONS) if (isErrorReason(fields.get(name))) return true
  return HTTP_STATUSES.some(name => isServerError(fields.get(name)))
}

/** Returns whether `error` is the reason or one of the reasons, listed in an array or in JSON text. */
function isErrorReason(reasons: Json): boolean {
  if (typeof reasons === 'string') return reasons === 'error' || /^\s*\[.*"error".*\]\s*$/.test(reasons)
  return Array.isArray(reasons) && reasons.includes('error')
}

const isServerError = (code: Json): boolean => code !== undefined && Number(plainNumber(code)) >= 500
