/** Tables of traces and scores. */
import type { Static } from 'typebox'
import { visible } from '../../lib/log-text.ts'
import type { ScoreOutput, TraceSummary } from '../../lib/schema/output.ts'
import type { FittedColumn } from './fitted-table.ts'
import { cutTo, type Line, type LinePiece, type Style } from './lines.ts'
import { count, counted, duration, money, shortClock } from './words.ts'

export type ShownSummary = Static<typeof TraceSummary>

const STATUS_STYLES: Readonly<Record<string, Style>> = { error: 'red', ok: 'green', running: 'yellow' }
export const statusPiece = (status: string): LinePiece => ({ text: status, style: STATUS_STYLES[status] })

export const tokens = ({ totalTokens }: { readonly totalTokens: number }): string =>
  totalTokens === 0 ? '' : count(totalTokens)

export const TRACE_TABLE: readonly FittedColumn<ShownSummary>[] = [
  { title: 'TRACE', of: ({ id }) => ({ text: id, style: 'cyan' }) },
  { title: 'STARTED (UTC)', of: ({ startedAt }) => shortClock(startedAt), rank: 3 },
  { title: 'NAME', of: ({ name }) => name, least: 12 },
  { title: 'STATUS', of: statusOf },
  { title: 'DURATION', of: ({ durationMs }) => duration(durationMs), isNumber: true },
  { title: 'STEPS', of: ({ spanCount }) => count(spanCount), isNumber: true, rank: 7 },
  { title: 'TOKENS', of: ({ usage }) => tokens(usage), isNumber: true, rank: 5 },
  { title: 'COST', of: ({ costUsd }) => money(costUsd), isNumber: true, rank: 4 },
  { title: 'MODEL', of: ({ model }) => model ?? '', least: 8, rank: 6 },
  { title: 'ENVIRONMENT', of: ({ environment }) => environment ?? '', rank: 8 },
  { title: 'USER', of: ({ userId }) => userId ?? '', least: 8, rank: 9 }
]

/** Returns the status. A trace without the status `error` may have failed steps. */
function statusOf({ status, errorCount }: ShownSummary): LinePiece {
  if (status === 'error' || errorCount === 0) return statusPiece(status)
  return { text: `${status}, ${counted(errorCount, 'error')}`, style: 'red' }
}

export const SCORE_TABLE: readonly FittedColumn<ScoreOutput>[] = [
  { title: 'SCORE', of: ({ name }) => name, least: 10 },
  { title: 'VALUE', of: ({ value }) => String(value), least: 5 },
  { title: 'CREATED (UTC)', of: ({ createdAt }) => shortClock(createdAt), rank: 2 },
  { title: 'SOURCE', of: ({ source, evaluatorId }) => evaluatorId ?? source, least: 8, rank: 3 },
  { title: 'TRACE', of: ({ traceId }) => ({ text: traceId, style: 'cyan' }) },
  { title: 'STEP', of: ({ spanId }) => spanId ?? '', rank: 4 },
  { title: 'COMMENT', of: ({ comment }) => comment?.replace(/\s+/g, ' ') ?? '', least: 10, rank: 1 }
]

/** Returns one line for a trace in a growing list, whose columns therefore have fixed widths. */
export function tailLine({ id, startedAt, name, status, errorCount, ...trace }: ShownSummary, columns: number): Line {
  const isFailed = status === 'error' || errorCount > 0
  const before: Line = [
    { text: id, style: 'cyan' },
    `  ${startedAt.slice(11, 19)}  `,
    { text: status.padEnd(7), style: isFailed ? 'red' : STATUS_STYLES[status] },
    `  ${duration(trace.durationMs).padStart(9)}  `
  ]
  const facts = [trace.model ?? '', tokens(trace.usage) && `${tokens(trace.usage)} tokens`, money(trace.costUsd)]
  const left = Math.max(TAIL_NAME, columns - TAIL_BEFORE)
  return [...before, cutTo([visible(name), ...facts.filter(Boolean).map(visible)].join('  '), left)]
}

/** Number of columns before the name in `tailLine`, and the name's minimum width. */
const TAIL_BEFORE = 32 + 2 + 8 + 2 + 7 + 2 + 9 + 2
const TAIL_NAME = 12
