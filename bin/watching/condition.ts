/** Parses conditions such as `errors > 5% over 15m`, and decides whether measured values meet them. */
import { UsageError } from '../command.ts'
import { readDuration } from '../terminal/times.ts'
import { count, duration, money } from '../terminal/words.ts'

/** The measured quantity. `silence` is the time since the last trace started. */
export type Measure =
  | { readonly of: 'errors'; readonly isRate: boolean }
  | { readonly of: 'cost' | 'tokens' | 'traces' | 'p50' | 'p95' | 'silence' }
  | { readonly of: 'score'; readonly name: string }

export interface Condition {
  /** The condition as written, which identifies it in the state file. */
  readonly text: string
  readonly measure: Measure
  readonly operator: '>' | '>=' | '<' | '<='
  /** In percent, US dollars, milliseconds, or as a number. */
  readonly limit: number
  /** The length of the period that is measured, which ends now. */
  readonly windowMs: number
}

/** A measured value, and how many traces or scores it is based on. The value is null if there are none. */
export interface Measured {
  readonly value: number | null
  readonly samples: number
}

const FORMS =
  'such as `errors > 5% over 15m`, `cost > 20 over 1d`, `tokens > 1000000 over 1h`, `p95 > 30s over 15m`, ' +
  '`traces < 1 over 1h`, `score quality < 0.7 over 1d` or `silence > 10m`'
const SYNTAX = /^(errors|cost|tokens|traces|p50|p95|silence|score\s+(\S+))\s*(>=|<=|>|<)\s*(\S+?)(?:\s+over\s+(\S+))?$/i
const LONGEST_MS = 90 * 86_400_000
const SHORTEST_MS = 60_000

export function parseCondition(given: string): Condition {
  const text = given.trim().replace(/\s+/g, ' ')
  const refuse = (rule: string): never => {
    throw new UsageError(`--when ${JSON.stringify(given)}: ${rule}`)
  }
  const [, noun = '', scoreName, operator = '', limit = '', window] = SYNTAX.exec(text) ?? refuse(`must be ${FORMS}`)
  const of = (scoreName === undefined ? noun.toLowerCase() : 'score') as Measure['of']
  const measure = measureOf(of, scoreName, limit)
  const value = readLimit(measure, limit) ?? refuse(`the limit must be ${limitForm(of)}, not ${limit}`)
  if (of === 'silence') {
    if (window !== undefined) refuse('`silence` does not accept a period: write `silence > 10m`')
    if (!operator.startsWith('>')) refuse('`silence` can only be compared with >: write `silence > 10m`')
    if (value < SHORTEST_MS) refuse('the limit must be at least 1m')
  }
  const windowMs = of === 'silence' ? value : readDuration(window ?? '')
  if (windowMs === undefined) return refuse('must end with a period, such as `over 15m`')
  if (windowMs < SHORTEST_MS || windowMs > LONGEST_MS) refuse('the period must be from 1m to 90d')
  return { text, measure, operator: operator as Condition['operator'], limit: value, windowMs }
}

function measureOf(of: Measure['of'], name: string | undefined, limit: string): Measure {
  if (of === 'errors') return { of, isRate: limit.endsWith('%') }
  return of === 'score' ? { of, name: name as string } : { of }
}

function readLimit({ of }: Measure, text: string): number | undefined {
  if (of === 'p50' || of === 'p95' || of === 'silence')
    return readDuration(text.endsWith('ms') ? msAsSeconds(text) : text)
  const pattern =
    of === 'errors' ? /^(\d+(?:\.\d+)?)%?$/ : of === 'cost' ? /^\$?(\d+(?:\.\d+)?)$/ : /^(-?\d+(?:\.\d+)?)$/
  const [, digits] = pattern.exec(text) ?? []
  return digits === undefined || (digits.startsWith('-') && of !== 'score') ? undefined : Number(digits)
}

/** `readDuration` does not accept milliseconds. */
const msAsSeconds = (text: string): string => `${Number(text.slice(0, -2)) / 1000}s`

function limitForm(of: Measure['of']): string {
  if (of === 'errors') return 'a number, or a percentage such as 5%'
  if (of === 'cost') return 'an amount in US dollars, such as 20 or $0.50'
  return of === 'p50' || of === 'p95' || of === 'silence' ? 'a duration such as 500ms, 30s or 10m' : 'a number'
}

/**
 * Whether the value meets the condition. Rates, percentiles and scores need at least `leastSamples` traces or scores,
 * because a single failure at night is not a rate of 100 %.
 */
export function isMet(
  { measure, operator, limit }: Condition,
  { value, samples }: Measured,
  leastSamples: number
): boolean {
  if (value === null) return false
  if (needsSamples(measure) && samples < leastSamples) return false
  switch (operator) {
    case '>':
      return value > limit
    case '>=':
      return value >= limit
    case '<':
      return value < limit
    default:
      return value <= limit
  }
}

const needsSamples = (measure: Measure): boolean =>
  measure.of === 'score' || measure.of === 'p50' || measure.of === 'p95' || (measure.of === 'errors' && measure.isRate)

/** Formats a value in the unit of its condition. */
export function formatValue({ of, ...measure }: Measure, value: number | null): string {
  if (value === null) return 'none'
  if (of === 'p50' || of === 'p95') return duration(Math.round(value))
  if (of === 'silence') return `${Math.floor(value / 60_000)} min`
  if (of === 'cost') return money(value)
  if (of === 'errors' && 'isRate' in measure && measure.isRate) return `${Math.round(value * 10) / 10} %`
  return Number.isInteger(value) ? count(value) : String(Math.round(value * 1000) / 1000)
}
