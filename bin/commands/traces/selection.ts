/**
 * The flags that select traces, as one table that `trace list`, `tail` and `delete`, `search`, `export` and `evaluate`
 * share: those of conditions.ts, and the further conditions of the search.
 */
import { FIELD_VALUES } from '../../../lib/schema/field-values.ts'
import type { TraceConditions } from '../../../lib/store/trace/trace-conditions.ts'
import { isBefore } from '../../../lib/trace/timestamp.ts'
import { type Asker, type QueryMembers, requestPath } from '../../asking/asker.ts'
import { UsageError } from '../../command.ts'
import type { ShownSummary } from '../../terminal/columns.ts'
import { CONDITION_FLAGS, oneOf, parseDuration, parseText, queryOf, readConditions } from './conditions.ts'

export const TRACES = '/api/v1/traces'
export const SEARCH = '/api/v1/search'
/** Maximum number of traces per page of the list and the search. */
export const TRACE_PAGE = 200

const duration = (about: string) => ({ type: 'string', value: 'D', about }) as const
const amount = (value: string, about: string) => ({ type: 'string', value, about }) as const

export const SELECTION_FLAGS = {
  ...CONDITION_FLAGS,
  tag: { ...CONDITION_FLAGS.tag, repeats: true, about: `${CONDITION_FLAGS.tag.about}; may be repeated` },
  'runs-only': { type: 'boolean', about: 'only traces with a cost, or with a model, agent, tool or retriever call' },
  step: { type: 'string', value: 'N', about: 'only traces with a step with this exact name' },
  'step-kind': { type: 'string', value: 'K', about: `that step's kind: ${FIELD_VALUES.spanKind.join(', ')}` },
  'step-status': { type: 'string', value: 'S', about: `that step's status: ${FIELD_VALUES.status.join(', ')}` },
  error: { type: 'string', value: 'E', about: "that step's error type, or words from its error message" },
  score: {
    type: 'string',
    value: 'C',
    repeats: true,
    about: "a condition on the newest score with a name, such as 'helpfulness<0.5' or grounded=true; may be repeated"
  },
  annotated: { type: 'string', value: 'yes|no', about: 'only traces with (or without) a score from the dashboard' },
  'min-duration': duration('only traces with at least this duration, such as 2s or 500ms'),
  'max-duration': duration('only traces with at most this duration'),
  'min-cost': amount('USD', 'only traces that cost at least this much'),
  'max-cost': amount('USD', 'only traces that cost at most this much'),
  'no-cost': { type: 'boolean', about: 'only traces with no known cost' },
  'min-tokens': amount('N', 'only traces with at least this many tokens'),
  'max-tokens': amount('N', 'only traces with at most this many tokens')
} as const

type Selecting = typeof SELECTION_FLAGS
type SelectionFlags = {
  readonly [Name in keyof Selecting]: Selecting[Name] extends { type: 'boolean' }
    ? boolean
    : Selecting[Name] extends { repeats: true }
      ? readonly string[] | undefined
      : string | undefined
}

export interface ChosenTraces {
  /** The conditions that commands check in SQL if they use the database directly. */
  readonly conditions: TraceConditions
  /** All conditions, as a query of the trace list or of the search. */
  readonly query: QueryMembers
  /** Whether the query has conditions that only the search checks. */
  readonly isFurther: boolean
  /** Whether any condition is given. */
  readonly isAny: boolean
}

export function readSelection(flags: SelectionFlags): ChosenTraces {
  const { tag: tags = [], score } = flags
  if ([...tags, ...(score ?? [])].includes('')) throw new UsageError('--tag and --score must not be empty')
  const conditions = readConditions({ ...flags, tag: tags[0] })
  const further = {
    tag: tags.length > 1 ? tags : undefined,
    runsOnly: flags['runs-only'] || undefined,
    step: parseText('step', flags.step),
    stepKind: oneOf('step-kind', flags['step-kind'], FIELD_VALUES.spanKind),
    stepStatus: oneOf('step-status', flags['step-status'], FIELD_VALUES.status),
    error: parseText('error', flags.error),
    score,
    annotated: readSwitch(flags.annotated),
    minDurationMs: parseDuration('min-duration', flags['min-duration']),
    maxDurationMs: parseDuration('max-duration', flags['max-duration']),
    minCostUsd: parseAmount('min-cost', flags['min-cost']),
    maxCostUsd: parseAmount('max-cost', flags['max-cost']),
    withoutCost: flags['no-cost'] || undefined,
    minTotalTokens: parseAmount('min-tokens', flags['min-tokens']),
    maxTotalTokens: parseAmount('max-tokens', flags['max-tokens'])
  }
  const given = Object.fromEntries(Object.entries(further).filter(([, value]) => value !== undefined))
  const isFurther = Object.keys(given).length > 0
  return {
    conditions,
    query: { ...queryOf(conditions), ...given },
    isFurther,
    isAny: isFurther || Object.values(conditions).some(value => value !== undefined)
  }
}

function readSwitch(text: string | undefined): boolean | undefined {
  const value = oneOf('annotated', text, ['yes', 'no'])
  return value === undefined ? undefined : value === 'yes'
}

function parseAmount(flag: string, text: string | undefined): string | undefined {
  if (text === undefined || /^\d{1,15}(?:\.\d{1,12})?$/.test(text)) return text
  throw new UsageError(`--${flag} must be 0 or more, not ${JSON.stringify(text)}`)
}

/** Parameters of the trace list, and those that it accepts only when it sorts by time. */
const LISTED = ['status', 'environment', 'model', 'name', 'tag', 'runsOnly', 'sort'] as const
const NEWEST_ONLY = ['sessionId', 'userId', 'from', 'to'] as const

/** Returns the route for the query: the trace list or, if the list does not accept the query, the search. */
export function pathFor(query: QueryMembers): string {
  const accepted: readonly string[] = [...LISTED, ...((query.sort ?? 'newest') === 'newest' ? NEWEST_ONLY : [])]
  const isListed = Object.entries(query).every(
    ([name, value]) => value === undefined || (accepted.includes(name) && !Array.isArray(value))
  )
  return isListed ? TRACES : SEARCH
}

/** Yields all traces that the query finds, page by page. A page may be empty. */
export async function* foundPages(asker: Asker, query: QueryMembers): AsyncGenerator<readonly ShownSummary[], void> {
  for (let after: string | undefined | null; after !== null; ) {
    const asked = requestPath(pathFor(query), { ...query, limit: TRACE_PAGE, after })
    const { traces, nextCursor } = JSON.parse(await asker.ask('GET', asked))
    yield traces
    after = nextCursor
  }
}

/** Returns whether a trace meets conditions that its summary shows; undefined if the summary does not show it. */
export function meets(trace: ShownSummary, { conditions, isFurther }: ChosenTraces): boolean | undefined {
  const { environment, tag, errors, from, to, before, ...equal } = conditions
  const { startedAt } = trace
  if (
    (from !== undefined && isBefore(startedAt, from)) ||
    (to !== undefined && isBefore(to, startedAt)) ||
    (before !== undefined && !isBefore(startedAt, before)) ||
    (tag !== undefined && !trace.tags.includes(tag)) ||
    (errors && trace.status !== 'error' && trace.errorCount === 0) ||
    (['status', 'name', 'model', 'sessionId', 'userId'] as const).some(
      name => equal[name] !== undefined && equal[name] !== trace[name]
    )
  )
    return false
  // An environment that was never recorded is shown like an unassigned one.
  if (isFurther || (environment === 'unassigned' && trace.environment === null)) return undefined
  return environment === undefined || environment === trace.environment
}

/** Returns the traces that meet the conditions. Uses the search if a trace's summary is not enough. */
export async function selected<T extends ShownSummary>(
  asker: Asker,
  traces: readonly T[],
  selection: ChosenTraces
): Promise<T[]> {
  const found: T[] = []
  for (const trace of traces) {
    const isMet = meets(trace, selection)
    if (isMet === true || (isMet === undefined && (await isFound(asker, trace, selection)))) found.push(trace)
  }
  return found
}

async function isFound(asker: Asker, { id, startedAt }: ShownSummary, { query }: ChosenTraces): Promise<boolean> {
  for await (const page of foundPages(asker, { ...query, from: startedAt, to: startedAt })) {
    if (page.some(each => each.id === id)) return true
  }
  return false
}
