/**
 * Writes the `hint` of an empty result: which of the requested values no trace has, and the nearest ones that exist.
 * Agents guess names, and learn the right ones from hints.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { nearestNames } from '../../nearest.ts'
import { cutText } from '../finding/preview.ts'
import { listTraces } from '../lists/trace-list.ts'
import type { TraceFilters } from '../lists/trace-query.ts'
import { type NameKind, readKnownNames, readNewestStart, traceExists } from './known-names.ts'

/** The requested values. */
export interface AskedValues {
  readonly name?: string | undefined
  readonly model?: string | undefined
  readonly environment?: string | undefined
  readonly tags?: readonly string[]
  /** The key in a tag `KEY:value`. */
  readonly tagKey?: string | undefined
  readonly userId?: string | undefined
  readonly userPrefix?: string | undefined
  readonly sessionId?: string | undefined
  readonly sessionPrefix?: string | undefined
  readonly step?: string | undefined
  readonly stepModel?: string | undefined
  readonly scores?: readonly string[]
  readonly traceId?: string | undefined
  /** Canonical timestamps. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export interface EmptyResult {
  /** A noun for the items sought, such as `span`. */
  readonly sought: string
  readonly values: AskedValues
}

interface Asked {
  readonly kind: NameKind
  readonly value: string
  /** The sentence's beginning. */
  readonly missing: string
  /** Filters that find the value, if an index supports them. Other values are looked up among the newest names. */
  readonly filters?: TraceFilters
  readonly isPrefix?: true
}

/** Returns sentences for the reader of an empty result. */
export async function explainEmpty(
  sql: Sql,
  projectId: number,
  { sought, values }: EmptyResult,
  names: TableNames = SCHEMA_NAMES
): Promise<string> {
  const exists = async (filters: TraceFilters): Promise<boolean> =>
    (await listTraces(sql, projectId, { ...filters, sort: 'newest', limit: 1 }, names)).traces !== '[]'
  const newest = await readNewestStart(sql, projectId, names)
  if (newest === undefined) return 'The project has no traces.'
  const said: string[] = []
  const { traceId, from, to } = values
  if (traceId !== undefined && !(await traceExists(sql, projectId, traceId, names))) {
    said.push(`The project has no trace ${traceId}.`)
  }
  if ((from !== undefined || to !== undefined) && !(await exists({ from, to }))) {
    said.push(`No trace started in this period; the newest started at ${newest}.`)
  }
  const asked = askedNames(values)
  for (const { kind, value, missing, filters, isPrefix } of asked) {
    if (filters !== undefined && (await exists(filters))) continue
    const known = await readKnownNames(sql, projectId, kind, names)
    if (isPrefix ? known.some(each => each.startsWith(value)) : filters === undefined && known.includes(value)) continue
    said.push(`${missing}. ${suggest(value, known, isPrefix)}`)
  }
  if (said.length === 0) {
    said.push(`No ${sought} that was examined meets all conditions.`)
    if (asked.length > 0 || traceId !== undefined) said.push('All of the values exist.')
    said.push(`The newest trace started at ${newest}.`)
  }
  return said.join(' ')
}

/** Trace fields that an index supports. */
const TRACE_FIELDS = ['name', 'model', 'environment', 'userId', 'sessionId'] as const
const NOUNS: Readonly<Partial<Record<NameKind, string>>> = { userId: 'user ID', sessionId: 'session ID' }
const PREFIXES = { userId: ['user', 'userPrefix'], sessionId: ['session', 'sessionPrefix'] } as const

function askedNames(values: AskedValues): Asked[] {
  const { tags = [], scores = [], step, stepModel, tagKey } = values
  const asked: Asked[] = []
  for (const kind of TRACE_FIELDS) {
    const value = values[kind]
    if (value === undefined) continue
    asked.push({
      kind,
      value,
      missing: `No trace has the ${NOUNS[kind] ?? kind} ${quoted(value)}`,
      filters: { [kind]: value }
    })
  }
  for (const tag of tags) {
    asked.push({ kind: 'tag', value: tag, missing: `No trace has the tag ${quoted(tag)}`, filters: { tag } })
  }
  for (const [kind, [noun, field]] of Object.entries(PREFIXES) as [
    keyof typeof PREFIXES,
    (typeof PREFIXES)['userId' | 'sessionId']
  ][]) {
    const value = values[field]
    if (value === undefined) continue
    asked.push({ kind, value, missing: `No recent ${noun} begins with ${quoted(value)}`, isPrefix: true })
  }
  const recent: [NameKind, string | undefined, string][] = [
    ['step', step, 'step is named'],
    ['stepModel', stepModel, 'step has the model'],
    ['tagKey', tagKey, 'tag has the key'],
    ...scores.map((score): [NameKind, string, string] => ['score', score, 'score is named'])
  ]
  for (const [kind, value, text] of recent) {
    if (value !== undefined) asked.push({ kind, value, missing: `No recent ${text} ${quoted(value)}` })
  }
  return asked
}

function suggest(value: string, known: readonly string[], isPrefix = false): string {
  const { names, areLike } = nearestNames(value, known, isPrefix)
  if (names.length === 0) return 'Recent traces have none.'
  return `${areLike ? 'The nearest' : 'The most frequent'}: ${names.map(quoted).join(', ')}.`
}

/** Maximum number of characters of a name that a sentence shows. */
const MOST_SHOWN = 120
const quoted = (name: string): string => JSON.stringify(cutText(name, MOST_SHOWN))
