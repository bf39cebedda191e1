/** Lays out a trace for the terminal: its facts, and the tree of its steps. */
import type { Static } from 'typebox'
import type { ScoreOutput, TraceDetail } from '../../lib/schema/output.ts'
import { failureOfStep } from '../../lib/trace/failures/step-failure.ts'
import { prettyLines } from '../../lib/trace/json/pretty.ts'
import { leftOutOf } from '../../lib/trace/states/left-out.ts'
import { isBefore } from '../../lib/trace/timestamp.ts'
import { inTreeOrder } from '../../lib/trace/tree-order.ts'
import { SCORE_TABLE, statusPiece, tokens } from './columns.ts'
import { type FittedColumn, fitTable } from './fitted-table.ts'
import { cutTo, type Line } from './lines.ts'
import { count, counted, duration, longClock, money, relativeTime } from './words.ts'

/** A parsed trace, whose free-form JSON may contain LosslessNumbers. */
export type DetailedTrace = Static<typeof TraceDetail>
type Span = DetailedTrace['spans'][number]

/** Returns the failed steps below which no step failed, in the order in which they ended. */
export function failedSteps(spans: readonly Span[]): Span[] {
  const failed = spans.filter(({ status }) => status === 'error')
  const byId = new Map(spans.map(span => [span.id, span]))
  const above = new Set<string>()
  for (const { id, parentSpanId } of failed) {
    // Stops at a marked span, whose ancestors are marked already. Parents may form a cycle.
    for (let parent = parentSpanId; parent !== null && parent !== id && !above.has(parent); ) {
      above.add(parent)
      parent = byId.get(parent)?.parentSpanId ?? null
    }
  }
  const deepest = failed.filter(({ id }) => !above.has(id))
  return (deepest.length > 0 ? deepest : failed).sort((one, other) =>
    isBefore(one.endedAt, other.endedAt) ? -1 : Number(isBefore(other.endedAt, one.endedAt))
  )
}

/** Maximum number of further failed steps that are listed by name. */
const MOST_FAILED = 5
/** Maximum length of an error's message, in characters. */
const LONGEST_MESSAGE = 500

function failureLines({ spans }: DetailedTrace): Line[] {
  const [first, ...others] = failedSteps(spans)
  if (first === undefined) return []
  const { type, message } = failureOfStep({
    kind: first.kind,
    output: JSON.stringify(first.output ?? null),
    attributes: JSON.stringify(first.attributes),
    events: JSON.stringify(first.events)
  })
  const head: Line = [
    { text: `Failed: ${first.name}`, style: 'red' },
    ` (${first.kind}, ${first.id}), after ${duration(first.durationMs)}`
  ]
  const reason = [type, message].filter(Boolean).join(': ')
  const lines = reason === '' ? [] : splitLines(cutTo(reason, LONGEST_MESSAGE))
  const names = others.slice(0, MOST_FAILED).map(({ name }) => name)
  const more = others.length > MOST_FAILED ? [`${others.length - MOST_FAILED} more`] : []
  const also: Line[] = others.length === 0 ? [] : [[`Also failed: ${[...names, ...more].join(', ')}`]]
  return [head, ...lines.map(text => ['  ', text]), ...also, []]
}

interface Step {
  readonly span: Span
  readonly branch: string
  /** The tree lines drawn before each additional line of the step. */
  readonly below: string
}

/** Returns the steps as a tree, depth first, with the lines that connect them. */
export function nestedSteps(spans: readonly Span[]): Step[] {
  const placed = inTreeOrder(spans)
  // Going backwards shows, for each depth, whether a step or its ancestor has a later sibling.
  const follows: boolean[] = []
  const steps: Step[] = []
  for (const { span, depth } of placed.toReversed()) {
    const rails = Array.from({ length: depth }, (_, at) => (follows[at] === true ? '│  ' : '   '))
    const hasNext = follows[depth] === true
    // The top level has no branch of its own, so the first rail is left out.
    const before = rails.slice(1).join('')
    const branch = depth === 0 ? '' : `${before}${hasNext ? '├─ ' : '└─ '}`
    const hasChildren = follows.length > depth + 1 && follows[depth + 1] === true
    const own = depth === 0 ? '' : hasNext ? '│  ' : '   '
    steps.push({ span, branch, below: `${before}${own}${hasChildren ? '│  ' : '   '}` })
    follows.length = depth
    follows[depth] = true
  }
  return steps.reverse()
}

const FAILED_MARK = '✗ '

const STEP_COLUMNS: readonly FittedColumn<Step>[] = [
  {
    title: 'STEP',
    of: ({ span: { status, name }, branch }) =>
      status === 'error' ? { text: `${branch}${FAILED_MARK}${name}`, style: 'red' } : `${branch}${name}`,
    least: 24
  },
  { title: 'KIND', of: ({ span }) => span.kind, rank: 3 },
  { title: 'DURATION', of: ({ span }) => duration(span.durationMs), isNumber: true },
  { title: 'TOKENS', of: ({ span }) => (span.usage === null ? '' : tokens(span.usage)), isNumber: true, rank: 2 },
  { title: 'COST', of: ({ span }) => money(span.costUsd), isNumber: true, rank: 1 },
  { title: 'MODEL', of: ({ span }) => span.model ?? '', least: 10, rank: 4 },
  { title: 'ID', of: ({ span }) => ({ text: span.id, style: 'dim' }), rank: 5 }
]

export interface TraceLinesOptions {
  readonly columns: number
  /** Whether inputs, outputs, attributes and events are shown. */
  readonly hasTexts: boolean
}

/** Returns a trace: its facts, the failed step, the tree of its steps, and its scores. */
export function traceLines(detail: DetailedTrace, { columns, hasTexts }: TraceLinesOptions): Line[] {
  const { trace, spans, scores } = detail
  const steps = nestedSteps(spans)
  const [heading, ...rows] = fitTable(STEP_COLUMNS, steps, columns)
  const tree = rows.flatMap((row, i) => (hasTexts ? [row, ...spanTexts(steps[i]!)] : [row]))
  const leftOut = leftOutOf(trace.metadata)?.count
  return [
    [{ text: trace.name, style: 'bold' }, '  ', statusPiece(trace.status)],
    ...factLines(trace),
    [],
    ...failureLines(detail),
    ...(hasTexts ? traceTexts(trace) : []),
    ...(spans.length === 0 ? [['The trace has no steps.']] : [heading!, ...tree]),
    ...(leftOut === undefined ? [] : [[`${counted(leftOut, 'more step')} could not be stored.`]]),
    ...scoreLines(scores, columns)
  ]
}

function factLines(trace: DetailedTrace['trace']): Line[] {
  const { usage, environment, provider, model, tags } = trace
  const facts: [string, string | null][] = [
    ['id', trace.id],
    ['started', `${longClock(trace.startedAt)} UTC, ${relativeTime(trace.startedAt)}`],
    ['duration', duration(trace.durationMs)],
    ['tokens', usage.totalTokens === 0 ? '' : `${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out`],
    ['cost', money(trace.costUsd)],
    ['model', [provider, model].filter(Boolean).join(' / ')],
    ['environment', environment],
    ['session', trace.sessionId],
    ['user', trace.userId],
    ['tags', tags.join(', ')]
  ]
  return facts.flatMap(([name, value]): Line[] =>
    value === null || value === '' ? [] : [[{ text: name.padEnd(13), style: 'dim' }, value]]
  )
}

/** Returns a value as lines: strings unchanged, other JSON indented. Null and empty values have no lines. */
export function valueLines(name: string, value: unknown, before: string): Line[] {
  if (value === null || value === undefined) return []
  const lines = typeof value === 'string' ? splitLines(value) : prettyLines(value)
  if (['', '{}', '[]'].includes(lines.join('\n'))) return []
  return [[before, { text: name, style: 'dim' }], ...lines.map(line => [before, '  ', line])]
}

/** Names of a step's texts. */
export const TEXTS = ['input', 'output', 'attributes', 'events'] as const

const spanTexts = ({ span, below }: Step): Line[] => TEXTS.flatMap(name => valueLines(name, span[name], below))

function traceTexts({ input, output, metadata }: DetailedTrace['trace']): Line[] {
  const lines = Object.entries({ input, output, metadata }).flatMap(([name, value]) => valueLines(name, value, ''))
  return lines.length === 0 ? [] : [...lines, []]
}

/** Splits a text into lines without line breaks and tabs. */
function splitLines(text: string): string[] {
  return text.split(/\r\n|\n|\r/).map(line => line.replaceAll('\t', '    '))
}

function scoreLines(scores: readonly ScoreOutput[], width: number): Line[] {
  if (scores.length === 0) return []
  const columns = SCORE_TABLE.filter(({ title }) => title !== 'TRACE')
  return [[], ...fitTable(columns, scores, width)]
}
