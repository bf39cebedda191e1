/**
 * Finds the rows that a decision writes and the number of spans that the decision counts. There is one row per span.
 */
import { pickRows, type SpanRows } from '../rows/copy-rows.ts'
import { pickScores, type ScoreRows } from '../rows/score-rows.ts'
import type { SpanHead } from '../trace/prepared.ts'
import { type Decided, type Operation, type Pending, recordOf, type Write } from './pending.ts'

/** Returns the rows of the spans that a decision adds; undefined if a stored trace gets no spans. */
export function rowsOf({ pending, decision }: Decided): SpanRows | undefined {
  const { operation } = pending
  switch (decision.type) {
    case 'insert':
      return recordOf(pending)?.rows
    case 'grow':
      if (decision.added.length === 0 || operation.operation !== 'export') return undefined
      return operation.rowsOf(decision.added, decision.cut)
    case 'change':
      return addedRows(operation, decision.change.spans)
    case 'advance':
      return addedRows(operation, decision.advance.spans)
  }
}

function addedRows(operation: Operation, added: readonly SpanHead[]): SpanRows | undefined {
  if (added.length === 0 || operation.operation === 'export' || operation.operation === 'idle') return undefined
  const spans = operation.operation === 'record' ? operation.restored?.spans : operation.spans
  return spans && pickRows(operation.rows, spans, added)
}

/** Returns the number of spans that a decision counts. The same number of rows must be written. */
export function countedSpans(pending: Pending, decision: Write): number {
  switch (decision.type) {
    case 'insert':
      return recordOf(pending)?.spanCount ?? 0
    case 'change':
      return decision.change.spans.length
    case 'grow':
      return decision.added.length
    case 'advance':
      return decision.advance.spans.length
  }
}

/** Returns the rows of a restored trace's scores that are added to the stored trace. */
export function addedScores({ operation }: Pending, added: readonly number[]): ScoreRows | undefined {
  if (operation.operation !== 'record' || added.length === 0) return undefined
  return pickScores(operation.rows, added)
}
