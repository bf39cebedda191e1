/** Prints responses of the API: as text for people, as one JSON value, or as one JSON value per line. */
import { visible } from '../../lib/log-text.ts'
import { type Call, UsageError } from '../command.ts'
import { type FittedColumn, fitTable } from '../terminal/fitted-table.ts'
import type { Line } from '../terminal/lines.ts'
import { longClock } from '../terminal/words.ts'
import { type Asker, type QueryMembers, requestPath } from './asker.ts'

export const OUTPUT_FLAGS = {
  ndjson: { type: 'boolean', about: 'print one JSON value per line' }
} as const
export const LIMIT_FLAG = (most: number) =>
  ({ type: 'string', value: 'N', about: `the maximum number of results, up to ${most.toLocaleString('en')}` }) as const

/** Loaded when needed, because --help does not need this module. */
const exactJson = () => import('../../lib/trace/json/exact-json.ts')

interface Printing extends Pick<Call, 'json' | 'stream' | 'screen'> {
  readonly flags: { readonly ndjson: boolean }
}

export function refuseBoth({ json, flags }: Printing): void {
  if (json && flags.ndjson) throw new UsageError('--json and --ndjson cannot be combined')
}

function isJson(call: Printing): boolean {
  refuseBoth(call)
  return call.json || call.flags.ndjson
}

/** Writes JSON on one line. Escaped control characters do not change its meaning. */
export const jsonLine = (text: string): string => `${visible(text.trimEnd())}\n`

/** Prints a response: its raw text, or the lines that describe its value. */
export async function printAnswer<T>(call: Printing, text: string, describe: (value: T) => readonly Line[]) {
  if (isJson(call)) await call.stream(jsonLine(text))
  else {
    const { parseExact } = await exactJson()
    await call.screen.page(describe(parseExact(text) as T))
  }
}

export interface ListRequest {
  readonly path: string
  readonly query: QueryMembers
  /** The member of a page that holds its items. */
  readonly member: string
  /** Maximum number of items, and of items per request. */
  readonly limit: number
  readonly pageSize: number
}

interface Page {
  readonly [member: string]: unknown
  readonly nextCursor?: string | null
  /**
   * On routes that may return short pages: the start of the last trace examined or, for other sort orders, its duration
   * or cost.
   */
  readonly reached?: string | number | null
  /** On word searches: how complete the word index is. */
  readonly index?: { readonly isFilled: boolean; readonly waiting: number; readonly partlyIndexed?: number } | null
  /** On an empty first page: which values do not exist, and the nearest ones that do. */
  readonly hint?: string | null
}

/** How a list ends: whether more items follow or, if that is unknown, why. */
export interface ListEnd {
  readonly hasMore: boolean
  /** Set if the list may have more items, but only among traces beyond this one. */
  readonly reached?: string | number | undefined
  /** Whether an index that the list was read from lacks traces. */
  readonly isIncomplete?: boolean
  /** Explains why there are no items. */
  readonly hint?: string | null
}

/** Maximum number of requests that return no items. Each examines thousands of traces. */
const MOST_EMPTY = 20

/** Yields the pages of a list until there are no more items, enough items, or too many requests without any. */
export async function* listPages<T>(
  asker: Asker,
  { path, query, member, limit, pageSize }: ListRequest
): AsyncGenerator<readonly T[], ListEnd> {
  const { parseExact } = await exactJson()
  let left = limit
  let empty = 0
  let isIncomplete = false
  let hint: string | null = null
  for (let after: string | null | undefined; after !== null; ) {
    if (left === 0) return { hasMore: true, isIncomplete }
    const asked = requestPath(path, { ...query, limit: Math.min(left, pageSize), after: after ?? undefined })
    const page = parseExact(await asker.ask('GET', asked)) as Page
    const items = page[member] as readonly T[]
    left -= items.length
    isIncomplete =
      page.index != null && (!page.index.isFilled || page.index.waiting > 0 || (page.index.partlyIndexed ?? 0) > 0)
    hint ??= page.hint ?? null
    yield items
    after = page.nextCursor ?? null
    empty = items.length === 0 ? empty + 1 : 0
    if (empty === MOST_EMPTY && after !== null)
      return { hasMore: true, reached: page.reached ?? undefined, isIncomplete, hint }
  }
  return { hasMore: false, isIncomplete, hint }
}

export async function collect<T>(asker: Asker, request: ListRequest): Promise<T[]> {
  const all: T[] = []
  for await (const page of listPages<T>(asker, request)) all.push(...page)
  return all
}

/** Prints a list. With --ndjson, each page is written as it arrives. */
export async function printList<T>(
  call: Printing,
  pages: AsyncGenerator<readonly T[], ListEnd>,
  describe: (items: readonly T[], end: ListEnd) => readonly Line[]
): Promise<void> {
  const inJson = isJson(call)
  const { stringifyExact } = await exactJson()
  const all: T[] = []
  for (;;) {
    const { value, done } = await pages.next()
    if (done) {
      if (call.json) await call.stream(jsonLine(`[${all.map(item => stringifyExact(item)).join(',')}]`))
      else if (!inJson) await call.screen.page(describe(all, value))
      return
    }
    if (call.flags.ndjson) await call.stream(value.map(item => jsonLine(stringifyExact(item))).join(''))
    else all.push(...value)
  }
}

/** Returns a table of a list, and how to see more. */
export function listLines<T>(
  { columns, rows, width }: { columns: readonly FittedColumn<T>[]; rows: readonly T[]; width: number },
  { hasMore, reached, hint = null }: ListEnd,
  { nouns, limit, most }: { nouns: string; limit: number; most: number }
): Line[] {
  const why: Line[] = hint === null ? [] : [[hint]]
  const table = rows.length === 0 ? [[`No ${nouns} found.`], ...why] : fitTable(columns, rows, width)
  if (!hasMore) return table
  if (reached === undefined)
    return [...table, [`More ${nouns} follow: --limit ${Math.min(most, limit * 4)} shows more.`]]
  const only =
    typeof reached === 'string'
      ? `Only traces since ${longClock(reached)} UTC were examined. To look further back, add --before ${reached}.`
      : 'Not all traces were examined: use a shorter period.'
  return rows.length === 0 ? [[only], ...why] : [...table, [only]]
}

/** Parses a flag whose value is a number of items. */
export function parseLimit(flag: string, text: string | undefined, usual: number, most: number): number {
  if (text === undefined) return usual
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (number >= 1 && number <= most) return number
  throw new UsageError(`--${flag} must be from 1 to ${most.toLocaleString('en')}, not ${JSON.stringify(text)}`)
}

/** Reads the id of a trace or of a step. */
export function parseId(what: string, text: string, digits: 16 | 32): string {
  if (text.length === digits && /^[0-9a-f]+$/i.test(text)) return text.toLowerCase()
  throw new UsageError(`${what} must be ${digits} hexadecimal digits, not ${JSON.stringify(text)}`)
}
