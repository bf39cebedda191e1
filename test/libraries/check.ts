/** Compares the stored traces with a row's expectations, column by column. */
import { isDeepStrictEqual } from 'node:util'
import { treeOf } from '../senders/tree.ts'
import { chatsUsed } from '../senders/used.ts'
import { COLUMNS, type Column, type Expected } from './row.ts'

/** The detail of a trace that a library's program has sent, as the API returns it. */
// biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary members of responses.
export type Detail = any

export interface Cell {
  readonly column: string
  /** `absent`: the library does not send the value, and the trace does not have it. */
  readonly state: 'arrives' | 'absent' | 'wrong'
  readonly wanted: unknown
  readonly got: unknown
}

/** The expected and the actual value of each column. The expected value is null if the library does not send one. */
type Pairs = Readonly<Record<Column, readonly [wanted: unknown, got: unknown]>>

export function check(expected: Expected, details: readonly Detail[]): Cell[] {
  const failing = details.filter(hasFailed)
  const answers = details.filter(detail => !hasFailed(detail))
  const trace = answers[0]?.trace
  const { tree, calls, tags } = expected
  const pairs: Pairs = {
    tree: [
      { answers: [tree], failing: [expected.failing] },
      { answers: answers.map(({ spans }) => treeOf(spans)), failing: failing.map(({ spans }) => treeOf(spans)) }
    ],
    input: [expected.input, textIn(trace?.input, expected.input, answers)],
    output: [expected.output, textIn(trace?.output, expected.output, answers)],
    model: [expected.model, trace?.model],
    provider: [expected.provider, trace?.provider],
    tokens: [calls && chatsUsed(calls), calls === null ? tokensOf(trace) : trace?.usage],
    cost: [expected.costUsd, costOf(trace)],
    session: [expected.sessionId, trace?.sessionId],
    user: [expected.userId, trace?.userId],
    tags: [tags, trace?.tags.length === 0 ? null : trace?.tags],
    error: [expected.error, errorIn(failing, expected.error)]
  }
  return compare(COLUMNS, pairs)
}

export function compare<Name extends string>(
  columns: readonly Name[],
  pairs: Readonly<Record<Name, readonly [wanted: unknown, got: unknown]>>
): Cell[] {
  return columns.map(column => {
    const [wanted, got] = pairs[column]
    const isEqual = isDeepStrictEqual(wanted, got)
    return { column, wanted, got, state: !isEqual ? 'wrong' : wanted === null ? 'absent' : 'arrives' }
  })
}

const hasFailed = ({ trace }: Detail): boolean => trace.errorCount > 0

/** Returns the cost, without the rounding errors of adding floating-point numbers. */
export const costOf = (trace: Detail): unknown =>
  typeof trace?.costUsd === 'number' ? Number(trace.costUsd.toPrecision(9)) : trace?.costUsd

const tokensOf = (trace: Detail) => (isDeepStrictEqual(trace?.usage, chatsUsed(0)) ? null : trace?.usage)

/**
 * Returns `text` if the value contains it, otherwise the value. If the traces contain an unreadable value, returns that
 * value instead.
 */
function textIn(value: unknown, text: string | null, answers: readonly Detail[]): unknown {
  const unreadable = answers.flatMap(({ trace, spans }) =>
    [trace, ...spans.filter(isReadHere)].flatMap(unreadableIn)
  )[0]
  if (unreadable !== undefined) return { unreadable }
  if (text === null) return value ?? null
  return JSON.stringify(value ?? null).includes(text) ? text : value
}

/** Only models and tools must have readable inputs and outputs. A library's other steps may contain its own objects. */
const isReadHere = ({ kind }: Detail): boolean => kind === 'llm' || kind === 'tool'

const unreadableIn = ({ input, output }: Detail): unknown[] => [input, output].filter(isUnreadable)

/** Returns whether a value is text that contains JSON or the repr of a Python object. */
function isUnreadable(value: unknown): boolean {
  if (typeof value !== 'string') return false
  if (/^(?:<\w|\w+\(\w+=|[[{(]['"])/.test(value)) return true
  try {
    return typeof JSON.parse(value) === 'object'
  } catch {
    return false
  }
}

/** Returns `text` if a failed step contains it, otherwise the names of the failed steps; null if no step failed. */
function errorIn(failing: readonly Detail[], text: string | null): unknown {
  const said = failing.flatMap(({ spans }) => spans.filter(({ status }: Detail) => status === 'error'))
  if (said.length === 0) return null
  return text !== null && JSON.stringify(said).includes(text) ? text : said.map(({ name }: Detail) => name)
}
