/** Pydantic's Logfire and pydantic-ai, beside the names of OpenTelemetry that they also send. */
import type { Dialect } from '../dialect.ts'

export const logfire: Dialect = {
  kind: () => undefined,
  cost: ['operation.cost'],
  // The name of the span is a template, such as `asked for {n} rows`.
  message: ['logfire.msg']
}
