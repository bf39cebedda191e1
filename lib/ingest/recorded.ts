/** Counts the traces and spans that a decision stored, for the metrics. */
import type { Way } from '../metrics.ts'
import type { Decision } from '../trace/states/decide.ts'
import { countedSpans } from './added-rows.ts'
import { isWrite, type Operation, type Pending } from './pending.ts'

/**
 * Returns how the data was recorded and the numbers of new traces and spans; undefined if no client data was written.
 */
export function recordedBy(
  pending: Pending,
  decision: Decision
): { readonly way: Way; readonly traces: number; readonly spans: number } | undefined {
  const { operation } = pending
  if (operation.operation === 'idle' || !isWrite(decision)) return undefined
  const way = operation.operation === 'export' ? 'otlp' : isRestored(operation) ? 'import' : 'native'
  return { way, traces: decision.type === 'insert' ? 1 : 0, spans: countedSpans(pending, decision) }
}

const isRestored = (operation: Operation): boolean =>
  operation.operation === 'record' && (operation.restored ?? operation.copied) !== undefined
