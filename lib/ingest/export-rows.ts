/** The spans of an export as they are handed to the write path: rendered as the trace that they make, where there is none yet. */
import { decideExport, type SpanRefusal } from '../trace/decide-export.ts'
import type { GatheredSpan, Growth } from '../trace/gathered.ts'
import type { PreparedTrace } from '../trace/prepared.ts'
import { type RecordText, renderTrace } from './rows.ts'

export interface ExportText {
  readonly operation: 'export'
  readonly traceId: string
  readonly spans: readonly GatheredSpan[]
  /** The trace that they make; undefined where none of them can be stored. */
  readonly first: RecordText | undefined
  /** Spans that are not in it. */
  readonly refusals: readonly SpanRefusal[]
}

export function renderExport(traceId: string, spans: readonly GatheredSpan[]): ExportText {
  const operation = { operation: 'export', traceId, spans } as const
  const { growth, added, refusals } = decideExport(undefined, { ...operation, environment: null })
  return { ...operation, first: growth && renderTrace(gatheredTrace(traceId, growth, added)), refusals }
}

function gatheredTrace(traceId: string, growth: Growth, spans: readonly GatheredSpan[]): PreparedTrace {
  return {
    ...growth,
    operation: 'record',
    traceId,
    input: growth.input ?? null,
    output: growth.output ?? null,
    spans,
    hash: growth.bodyHash,
    bytes: growth.documentBytes,
    ranks: JSON.stringify(growth.ranks)
  }
}
