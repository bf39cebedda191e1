/**
 * Logfire names each span after a message template and sends the rendered message as an attribute. Its other attributes
 * use OpenTelemetry's names.
 */
import { SPAN_KINDS } from '../../schema/input.ts'
import type { Dialect } from '../dialect.ts'

export const logfire: Dialect = {
  kind: () => undefined,
  names: Object.fromEntries(SPAN_KINDS.map(kind => [kind, ['logfire.msg']]))
}
