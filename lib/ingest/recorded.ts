/** What a decision stored, for the metrics. */
import type { Way } from '../metrics.ts'
import type { Decision } from '../trace/states/decide.ts'
import type { Operation } from './pending.ts'

/** The way, and how many traces and spans are new. Undefined if nothing is, or nobody recorded it. */
export function recordedBy(
  operation: Operation,
  decision: Decision
): { readonly way: Way; readonly traces: number; readonly spans: number } | undefined {
  if (operation.operation === 'idle') return undefined
  const way = operation.operation === 'export' ? 'otlp' : isRestored(operation) ? 'import' : 'native'
  switch (decision.type) {
    case 'insert':
      return { way, traces: 1, spans: spansOf(operation) }
    case 'change':
      return { way, traces: 0, spans: decision.added }
    case 'grow':
      return { way, traces: 0, spans: decision.added.length }
    case 'advance':
      return { way, traces: 0, spans: decision.advance.spans.length }
    default:
      return undefined
  }
}

const isRestored = (operation: Operation): boolean =>
  operation.operation === 'record' && operation.restored !== undefined

function spansOf(operation: Exclude<Operation, { operation: 'idle' }>): number {
  if (operation.operation === 'record') return operation.spanCount
  return operation.operation === 'export' ? (operation.first?.spanCount ?? 0) : 0
}
