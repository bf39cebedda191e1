/** Creates spans of an outline for tests of the trace page's logic. */
import type { OutlineSpan } from '../../../../../plugins/dashboard/app/contract.ts'

const START = Date.parse('2026-11-25T10:00:00.000Z')
export const timeAfter = (ms: number): string => new Date(START + ms).toISOString()

export function outlineSpan(
  id: string,
  parentSpanId: string | null = null,
  over: Partial<OutlineSpan> = {}
): OutlineSpan {
  return {
    id,
    traceId: 'ab'.repeat(16),
    parentSpanId,
    name: `span ${id}`,
    kind: 'custom',
    status: 'ok',
    startedAt: timeAfter(0),
    endedAt: timeAfter(1000),
    durationMs: 1000,
    provider: null,
    model: null,
    usage: null,
    costUsd: null,
    inputBytes: 0,
    outputBytes: 0,
    attributesBytes: 0,
    eventCount: 0,
    computedCost: null,
    tokenDetails: null,
    inputDigest: null,
    ...over
  }
}

export const lasting = (from: number, to: number): Partial<OutlineSpan> => ({
  startedAt: timeAfter(from),
  endedAt: timeAfter(to),
  durationMs: to - from
})
