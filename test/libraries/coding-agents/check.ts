/** Compares a coding agent's traces with its row's expectations, column by column. */
import { chatsUsed } from '../../senders/used.ts'
import { type Cell, compare, costOf, type Detail } from '../check.ts'
import { AGENT_COLUMNS, type AgentColumn, type AgentExpected } from './row.ts'

export function checkAgent(expected: AgentExpected, details: readonly Detail[]): Cell[] {
  const [prompt, ...others] = details.toSorted((one, other) => tokensOf(other) - tokensOf(one))
  const trace = prompt?.trace
  const [tool] = (prompt?.spans ?? []).filter(({ kind }: Detail) => kind === 'tool')
  const pairs: Readonly<Record<AgentColumn, readonly [wanted: unknown, got: unknown]>> = {
    steps: [
      { prompt: expected.steps, others: [] },
      { prompt: stepsOf(prompt?.spans ?? []), others: others.flatMap(({ spans }) => stepsOf(spans)) }
    ],
    name: [expected.name, expected.name === null ? null : trace?.name],
    input: [expected.input, textOf(trace?.input, expected.input)],
    output: [expected.output, textOf(trace?.output, expected.output)],
    model: [expected.model, trace?.model],
    tokens: [chatsUsed(expected.calls), trace?.usage],
    cost: [expected.costUsd, costOf(trace)],
    // Each agent creates its own session id.
    session: [true, typeof trace?.sessionId === 'string'],
    arguments: [expected.arguments, textOf(tool?.input, expected.arguments)],
    result: [expected.result, textOf(tool?.output, expected.result)],
    status: [expected.status, trace?.status === 'running' ? null : trace?.status]
  }
  return compare(AGENT_COLUMNS, pairs)
}

const tokensOf = ({ trace }: Detail): number => trace.usage.totalTokens ?? 0

/**
 * Returns the tree of steps, without steps of the kind `custom`. Some agents send hundreds of internal steps of that
 * kind.
 */
function stepsOf(spans: readonly Detail[]): string[] {
  const byId = new Map(spans.map(span => [span.id, span]))
  const parentOf = (span: Detail): string | null => {
    const parent = byId.get(span.parentSpanId)
    if (parent === undefined) return null
    return parent.kind === 'custom' ? parentOf(parent) : parent.id
  }
  const steps = spans.filter(({ kind }) => kind !== 'custom').map(span => ({ span, parentId: parentOf(span) }))
  // Some calls run at the same time, so siblings are sorted by the text of their subtrees.
  const below = (id: string | null, indent: string): string[] =>
    steps
      .filter(({ parentId }) => parentId === id)
      .map(({ span }) => [`${indent}${span.kind} ${span.name}`, ...below(span.id, `${indent}  `)].join('\n'))
      .sort()
  return below(null, '').flatMap(text => text.split('\n'))
}

/** Returns `text` if the value contains it, otherwise the value. */
function textOf(value: unknown, text: string | null): unknown {
  return text !== null && JSON.stringify(value ?? null).includes(text) ? text : (value ?? null)
}
