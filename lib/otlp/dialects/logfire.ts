/**
 * Logfire names a span by a template, and writes the text that the template makes into an attribute. The rest is in the
 * names of OpenTelemetry.
 */
import { SPAN_KINDS } from '../../schema/input.ts'
import type { Dialect } from '../dialect.ts'

export const logfire: Dialect = {
  kind: () => undefined,
  names: Object.fromEntries(SPAN_KINDS.map(kind => [kind, ['logfire.msg']]))
}
