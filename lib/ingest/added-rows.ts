/** The rows that a decision writes, and how many spans it counts: there is one row for each. */
import { pickRows, type SpanRows } from '../rows/copy-rows.ts'
import { pickScores, type ScoreRows } from '../rows/score-rows.ts'
import type { SpanHead } from '../trace/prepared.ts'
import { type Decided, type Operation, type Pending, recordOf, type Write } from './pending.ts'

/** The rows of the spans that a decision adds; undefined if it adds none to a stored trace. */
export function rowsOf({ pending, decision }: Decided): SpanRows | undefined {
  const { operation } = pending
  switch (decision.type) {
    case 'insert':
      return recordOf(pending)?.rows
    case 'grow':
      if (decision.added.length === 0 || operation.operation !== 'export') return undefined
      return operation.rowsOf(decision.added)
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

/** How many spans a decision counts, in the trace and in the answer. As many rows must be written for it. */
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

/** The rows of those scores, of a restored trace, that are added to the stored one. */
export function addedScores({ operation }: Pending, added: readonly number[]): ScoreRows | undefined {
  if (operation.operation !== 'record' || added.length === 0) return undefined
  return pickScores(operation.rows, added)
}
