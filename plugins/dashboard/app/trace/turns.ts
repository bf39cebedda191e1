/** Arranges the steps of a trace as turns: a prompt, the actions that it led to, and the answer. */
import { TRACE_ROW } from '../content/span-tree.ts'
import type { OutlineSpan } from '../contract.ts'

/** The words of a step, which are empty if unknown. */
export interface Told {
  readonly text: string
  readonly prompt: string
  readonly error: string
}

export interface TurnStep {
  readonly span: OutlineSpan
  readonly text: string
  readonly error: string
}

export interface Turn {
  /** Id of the turn's first step. */
  readonly key: string
  readonly prompt: string
  /** Steps before the answer: tool calls, and the model's text before them. */
  readonly actions: readonly TurnStep[]
  readonly answer: TurnAnswer | undefined
}

export interface TurnAnswer {
  /** Id of the step that answers, or TRACE_ROW if only the trace has the answer. */
  readonly key: string
  readonly text: string
}

/** The words of the trace itself, for turns whose steps lack them. */
export interface TraceWords {
  readonly prompt: string
  readonly answer: string
}

const STEPS: readonly string[] = ['llm', 'tool', 'agent', 'retriever']
/** Beginning of a preview that only lists calls. The calls have steps of their own. */
const CALLS = '→ '

/** Returns the steps that turns consist of, in chronological order, parents before children. */
export function stepsOfTurns(spans: readonly OutlineSpan[]): OutlineSpan[] {
  return inTime(spans).filter(({ kind, status }) => STEPS.includes(kind) || status === 'error')
}

/** Sorts spans by start, and a span before the spans inside it if they start at the same time. */
export function inTime(spans: readonly OutlineSpan[]): OutlineSpan[] {
  const byId = new Map(spans.map(span => [span.id, span]))
  const depths = new Map<string, number>()
  const depthOf = (span: OutlineSpan): number => {
    const path: OutlineSpan[] = []
    let at: OutlineSpan | undefined = span
    while (at !== undefined && !depths.has(at.id) && !path.includes(at)) {
      path.push(at)
      at = at.parentSpanId === null ? undefined : byId.get(at.parentSpanId)
    }
    let depth = at === undefined ? -1 : (depths.get(at.id) ?? -1)
    for (const each of path.reverse()) depths.set(each.id, ++depth)
    return depths.get(span.id)!
  }
  return spans
    .map((span, at) => ({ span, at, time: Date.parse(span.startedAt), depth: depthOf(span) }))
    .sort((a, b) => a.time - b.time || a.depth - b.depth || a.at - b.at)
    .map(({ span }) => span)
}

/**
 * Arranges steps whose previews are known. A prompt that differs from the current turn's begins a turn. The first turn
 * takes a missing prompt from the trace, and the last turn a missing answer.
 */
export function turnsOf(
  steps: readonly OutlineSpan[],
  told: (id: string) => Told | undefined,
  trace: TraceWords = { prompt: '', answer: '' }
): Turn[] {
  const turns: { key: string; prompt: string; steps: TurnStep[] }[] = []
  for (const span of steps) {
    const { text = '', prompt = '', error = '' } = told(span.id) ?? {}
    const isAgent = span.kind === 'agent'
    const asked = isAgent ? text : prompt
    const current = turns.at(-1)
    if (asked !== '' && current?.prompt !== asked) {
      // An agent's input is often a short form of the prompt that its first call sends.
      if (current !== undefined && current.steps.length === 0) current.prompt = asked
      else turns.push({ key: span.id, prompt: asked, steps: [] })
    } else if (current === undefined) turns.push({ key: span.id, prompt: '', steps: [] })
    if (!isAgent || error !== '') turns.at(-1)!.steps.push({ span, text: isAgent ? '' : text, error })
  }
  return turns.map(({ key, prompt, steps }, i) => {
    const last = steps.at(-1)
    const isAnswer = last?.span.kind === 'llm' && last.error === '' && last.text !== '' && !last.text.startsWith(CALLS)
    const before = isAnswer ? steps.slice(0, -1) : steps
    const actions = before.filter(
      ({ span, text, error }) => span.kind !== 'llm' || error !== '' || (text !== '' && !text.startsWith(CALLS))
    )
    const own = isAnswer ? { key: last.span.id, text: last.text } : undefined
    const isLast = i === turns.length - 1 && last?.error === '' && trace.answer !== ''
    const answer = own ?? (isLast ? { key: TRACE_ROW, text: trace.answer } : undefined)
    return { key, prompt: i === 0 ? prompt || trace.prompt : prompt, actions, answer }
  })
}
