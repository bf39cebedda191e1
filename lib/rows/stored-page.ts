/**
 * Reads pages of a backup: the rows of some traces as PostgreSQL sends them in COPY's binary format. The rows of texts
 * stay packed, and are stored as they are. What derives from a trace's fields, such as the numbers of its lists, is
 * computed again.
 *
 * Anyone can edit a backup. A page is therefore checked for the values that code relies on, and PostgreSQL checks the
 * rest, such as JSON and UTF-8. Texts are not unpacked.
 */

import { FIELD_VALUES } from '../schema/field-values.ts'
import { MAX_NAME, MAX_TAG, MAX_TAGS, MAX_TEXT } from '../schema/input.ts'
import { UNASSIGNED } from '../trace/environment.ts'
import { timestampOf } from '../trace/timestamp.ts'
import type { ListedTrace } from './column-values.ts'
import {
  type Column,
  SCORE_COLUMNS,
  SPAN_COLUMNS,
  SPAN_HEAD_COLUMNS,
  TRACE_BODY_COLUMNS,
  TRACE_TEXT_COLUMNS
} from './columns.ts'
import { renderCopiedRows, type TraceRows, textsOfRows } from './copy-rows.ts'

/**
 * The rows of a page's traces, in order. In the rows of spans and scores, `project_id` is 0, and `trace_seq` is the
 * place of the trace in the page, beginning with 1.
 */
export interface StoredPage {
  readonly traces: Buffer
  readonly spans: Buffer
  readonly scores: Buffer
}

/** Columns of a page's traces. A change to these columns, or to those of spans and scores, needs a new format. */
export const PAGE_COLUMNS = {
  traces: [
    { name: 'environment', type: 'text' },
    { name: 'key_id', type: 'text' },
    { name: 'ingested_at', type: 'timestamptz' },
    ...TRACE_BODY_COLUMNS,
    ...TRACE_TEXT_COLUMNS
  ] as readonly Column[],
  spans: SPAN_COLUMNS,
  scores: SCORE_COLUMNS
}

/** A trace of a page, with the rows to store. */
export interface CopiedTrace {
  readonly traceId: string
  readonly hash: string
  readonly running: boolean
  readonly spanCount: number
  readonly estimatedBytes: number
  readonly copied: {
    readonly environment: string | null
    readonly keyId: string | null
    readonly ingestedAt: string | null
  }
  readonly rows: TraceRows
}

/** A page is not what a backup contains. The message completes the sentence "the page …". */
export class PageFault extends Error {
  override readonly name = 'PageFault'
}

/** Yields the traces of a page. Throws a PageFault at the first value that no backup contains. */
export function* tracesInPage(page: StoredPage): Generator<CopiedTrace> {
  const traces = new RowCursor(page.traces, PAGE_COLUMNS.traces)
  const spans = new OwnedRows(page.spans, PAGE_COLUMNS.spans, checkSpan)
  const scores = new OwnedRows(page.scores, PAGE_COLUMNS.scores, checkScore)
  for (let place = 1; traces.next(); place++) {
    const trace = readTrace(traces)
    const own = { spans: spans.take(place), scores: scores.take(place) }
    for (const [name, count] of [
      ['span_count', own.spans.starts.length],
      ['score_count', own.scores.starts.length]
    ] as const) {
      if (traces.number(name) !== count)
        throw new PageFault(`has ${count} rows for the ${name} of trace ${trace.traceId}`)
    }
    const environment = traces.text('environment')
    checkLabels(environment, traces.text('key_id'))
    yield {
      traceId: trace.traceId,
      hash: traces.hex('body_hash', 32) as string,
      running: trace.endedAt === null,
      spanCount: own.spans.starts.length,
      estimatedBytes: traces.number('estimated_bytes') ?? 0,
      copied: { environment, keyId: traces.text('key_id'), ingestedAt: traces.time('ingested_at') },
      rows: renderCopiedRows(trace, environment ?? '', { body: traces.from('id'), ...own })
    }
  }
  if (!spans.isDone || !scores.isDone) throw new PageFault('has rows without a trace')
}

const STATUSES: readonly string[] = FIELD_VALUES.status
const KINDS: readonly string[] = FIELD_VALUES.spanKind
const LABEL = /^[a-z0-9][a-z0-9_-]{0,31}$/
const KEY_ID = /^[0-9A-Za-z_-]{1,64}$/
/** Maximum number of UTF-8 bytes per character. */
const CHARACTER_BYTES = 4
const LENGTHS = { name: MAX_NAME, provider: MAX_TEXT, model: MAX_TEXT, session_id: MAX_TEXT, user_id: MAX_TEXT }

function readTrace(row: RowCursor): ListedTrace {
  const endedAt = row.time('ended_at')
  const status = row.text('status') ?? ''
  if (endedAt === null ? status !== 'running' : !STATUSES.includes(status)) throw new PageFault('has an unknown status')
  row.checkLengths(['name', 'provider', 'model', 'session_id', 'user_id'])
  const startedAt = row.time('started_at')
  const traceId = row.hex('id', 16)
  const name = row.text('name')
  if (startedAt === null || traceId === null || name === null)
    throw new PageFault('has a trace without a required field')
  if (row.number('score_count') === null || row.number('span_count') === null) throw new PageFault('has no counts')
  return {
    traceId,
    name,
    status,
    startedAt,
    endedAt,
    model: row.text('model'),
    userId: row.text('user_id'),
    tags: row.tags(),
    inputTokens: row.number('input_tokens'),
    outputTokens: row.number('output_tokens'),
    costUsd: row.double('cost_usd')
  }
}

function checkLabels(environment: string | null, keyId: string | null): void {
  const isLabel = environment === null || environment === UNASSIGNED || LABEL.test(environment)
  if (!isLabel) throw new PageFault('has an environment that is not a label')
  if (keyId !== null && !KEY_ID.test(keyId)) throw new PageFault('has a key id that is none')
}

function checkSpan(row: RowCursor): void {
  if (row.hex('id', 8) === null || row.hex('hash', 16) === null) throw new PageFault('has a span without id or hash')
  row.hex('parent_id', 8)
  if (!KINDS.includes(row.text('kind') ?? '')) throw new PageFault('has an unknown kind of span')
  if (!STATUSES.includes(row.text('status') ?? '')) throw new PageFault('has an unknown status of a span')
  row.checkLengths(['name', 'provider', 'model'])
}

function checkScore(row: RowCursor): void {
  if (row.hex('id', 8) === null) throw new PageFault('has a score without an id')
  row.hex('span_id', 8)
  if (!(FIELD_VALUES.dataType as readonly string[]).includes(row.text('data_type') ?? ''))
    throw new PageFault('has an unknown type of score')
}

/** Consecutive rows, and the offset of each in `bytes`. */
export interface CopiedRows {
  readonly bytes: Uint8Array
  readonly starts: readonly number[]
}

/** Rows in the order of the traces that own them. */
class OwnedRows {
  readonly #rows: RowCursor
  readonly #check: (row: RowCursor) => void
  #hasRow: boolean

  constructor(bytes: Buffer, columns: readonly Column[], check: (row: RowCursor) => void) {
    this.#rows = new RowCursor(bytes, columns)
    this.#check = check
    this.#hasRow = this.#rows.next()
  }

  get isDone(): boolean {
    return !this.#hasRow
  }

  /** Takes the rows of the trace at this place, of which there may be none. */
  take(place: number): CopiedRows {
    const rows = this.#rows
    const first = rows.start
    const starts: number[] = []
    while (this.#hasRow && rows.number('trace_seq') === place) {
      this.#check(rows)
      starts.push(rows.start - first)
      this.#hasRow = rows.next()
    }
    return { bytes: rows.bytes.subarray(first, starts.length === 0 ? first : rows.start), starts }
  }
}

/** Bytes of a column's values, by type, if all have the same. */
const WIDTH_OF: Readonly<Record<string, number>> = {
  boolean: 1,
  int: 4,
  bigint: 8,
  float8: 8,
  timestamptz: 8,
  uuid: 16
}
const COUNT_BYTES = 2
const LENGTH_BYTES = 4
const TWO_32 = 4_294_967_296
const POSTGRES_EPOCH_MICROS = 946_684_800_000_000
/** The times 0001-01-01T00:00:00Z and 10000-01-01T00:00:00Z, in microseconds since 1970. */
const FIRST_MICROS = -62_135_596_800_000_000
const PAST_LAST_MICROS = 253_402_300_800_000_000

/** Reads rows one after another. */
class RowCursor {
  readonly bytes: Buffer
  /** Offset of the current row, and the offset at which it ends. After the last row, both are the end of the page. */
  start = 0
  #end = 0
  readonly #columns: readonly Column[]
  readonly #places: ReadonlyMap<string, number>
  /** Offset of each value of the current row, and its length; -1 for null. */
  readonly #at: number[] = []
  readonly #lengths: number[] = []

  constructor(bytes: Buffer, columns: readonly Column[]) {
    this.bytes = bytes
    this.#columns = columns
    this.#places = placesOf(columns)
  }

  /** Moves to the next row. Returns false at the end. */
  next(): boolean {
    const { bytes } = this
    const columns = this.#columns
    this.start = this.#end
    if (this.start === bytes.length) return false
    let at = this.start + COUNT_BYTES
    if (at > bytes.length || bytes.readInt16BE(this.start) !== columns.length)
      throw new PageFault('has a malformed row')
    for (let i = 0; i < columns.length; i++) {
      if (at + LENGTH_BYTES > bytes.length) throw new PageFault('ends within a row')
      const length = bytes.readInt32BE(at)
      at += LENGTH_BYTES
      const { type, name } = columns[i] as Column
      const width = WIDTH_OF[type]
      if (length < -1 || (length >= 0 && width !== undefined && width !== length))
        throw new PageFault(`has a malformed ${name}`)
      this.#at[i] = at
      this.#lengths[i] = length
      if (length > 0) at += length
    }
    if (at > bytes.length) throw new PageFault('ends within a row')
    this.#end = at
    return true
  }

  /** Returns the current row's fields from this column on. */
  from(name: string): Uint8Array {
    return this.bytes.subarray((this.#at[this.#place(name)] as number) - LENGTH_BYTES, this.#end)
  }

  text(name: string): string | null {
    const [at, length] = this.#field(name)
    return length < 0 ? null : this.bytes.toString('utf8', at, at + length)
  }

  /** Reads a value that must have this many bytes. */
  hex(name: string, count: number): string | null {
    const [at, length] = this.#field(name)
    if (length < 0) return null
    if (length !== count) throw new PageFault(`has a malformed ${name}`)
    return this.bytes.toString('hex', at, at + length)
  }

  /** Reads an integer. */
  number(name: string): number | null {
    const [at, length] = this.#field(name)
    if (length < 0) return null
    if (length === 4) return this.bytes.readInt32BE(at)
    return this.bytes.readInt32BE(at) * TWO_32 + this.bytes.readUInt32BE(at + 4)
  }

  double(name: string): number | null {
    const [at, length] = this.#field(name)
    return length < 0 ? null : this.bytes.readDoubleBE(at)
  }

  time(name: string): string | null {
    const since2000 = this.number(name)
    if (since2000 === null) return null
    const micros = since2000 + POSTGRES_EPOCH_MICROS
    if (!(micros >= FIRST_MICROS && micros < PAST_LAST_MICROS)) throw new PageFault(`has an impossible ${name}`)
    if (micros >= 0 && Number.isSafeInteger(since2000)) return timestampOf(micros)
    const exact = this.bytes.readBigInt64BE(this.#field(name)[0]) + BigInt(POSTGRES_EPOCH_MICROS)
    const rest = Number(((exact % 1000n) + 1000n) % 1000n)
    const iso = new Date(Number((exact - BigInt(rest)) / 1000n)).toISOString()
    return rest === 0 ? iso : `${iso.slice(0, -1)}${String(rest).padStart(3, '0')}Z`
  }

  /** Reads the column `tags`: one dimension without nulls, or null for none. */
  tags(): string[] {
    const [from, length] = this.#field('tags')
    if (length < 0) return []
    const { bytes } = this
    const end = from + length
    const tags: string[] = []
    const wrong = () => new PageFault('has malformed tags')
    if (length < ARRAY_HEAD_BYTES || bytes.readInt32BE(from) !== 1) throw wrong()
    let at = from + ARRAY_HEAD_BYTES
    for (let i = bytes.readInt32BE(from + 12); i > 0; i--) {
      if (at + LENGTH_BYTES > end) throw wrong()
      const size = bytes.readInt32BE(at)
      at += LENGTH_BYTES + size
      if (size < 1 || size > CHARACTER_BYTES * MAX_TAG || at > end || tags.length === MAX_TAGS) throw wrong()
      tags.push(bytes.toString('utf8', at - size, at))
    }
    if (at !== end) throw wrong()
    return tags
  }

  checkLengths(names: readonly (keyof typeof LENGTHS)[]): void {
    for (const name of names) {
      if (this.#field(name)[1] > CHARACTER_BYTES * LENGTHS[name]) throw new PageFault(`has a ${name} that is too long`)
    }
  }

  /** Returns the raw fields of the current row, without those of `except`, for comparisons. */
  others(except: ReadonlySet<string>): string {
    return this.#columns
      .map(({ name }, i) => {
        const length = this.#lengths[i] as number
        const at = this.#at[i] as number
        return except.has(name) ? '' : `${length}:${length > 0 ? this.bytes.toString('latin1', at, at + length) : ''}`
      })
      .join()
  }

  #field(name: string): readonly [at: number, length: number] {
    const place = this.#place(name)
    return [this.#at[place] as number, this.#lengths[place] as number]
  }

  #place(name: string): number {
    return this.#places.get(name) as number
  }
}

/** Bytes of an array in front of its elements: dimensions, nulls, element type, element count and lower bound. */
const ARRAY_HEAD_BYTES = 20

const known = new WeakMap<readonly Column[], ReadonlyMap<string, number>>()

function placesOf(columns: readonly Column[]): ReadonlyMap<string, number> {
  const places = known.get(columns) ?? new Map(columns.map(({ name }, i) => [name, i]))
  known.set(columns, places)
  return places
}

/**
 * Whether two pages hold the same traces with the same texts, which one of them may have packed in another way or share
 * with other spans. A server packs traces again while it is idle (lib/store/repacking).
 */
export function isSameContent(one: StoredPage, other: StoredPage): boolean {
  if (!one.scores.equals(other.scores)) return false
  const [a, b] = [contentOf(one), contentOf(other)]
  return a.length === b.length && a.every((text, i) => text === b[i])
}

const TEXT_NAMES: ReadonlySet<string> = new Set(TRACE_TEXT_COLUMNS.map(({ name }) => name))
const PACKED_NAMES: ReadonlySet<string> = new Set(
  SPAN_COLUMNS.map(({ name }) => name).filter(name => !SPAN_HEAD_COLUMNS.some(head => head.name === name))
)

/** Describes each trace of a page, with its texts unpacked. */
function contentOf({ traces, spans }: StoredPage): string[] {
  const trace = new RowCursor(traces, PAGE_COLUMNS.traces)
  const heads: string[] = []
  const owned = new OwnedRows(spans, PAGE_COLUMNS.spans, row => heads.push(row.others(PACKED_NAMES)))
  const found: string[] = []
  for (let place = 1; trace.next(); place++) {
    const own = owned.take(place)
    const texts = textsOfRows({ bytes: own.bytes, spans: own.starts })
    const textOf = (side: 'input' | 'output') => {
      const spanId = trace.hex(`${side}_span_id`, 8)
      return trace.text(side) ?? (spanId === null ? null : (texts.get(spanId)?.[side] ?? null))
    }
    const content = [...texts].sort(([a], [b]) => (a < b ? -1 : 1))
    const spoken = content.map(([id, { input, output, attributes, events }]) => [id, input, output, attributes, events])
    found.push(JSON.stringify([trace.others(TEXT_NAMES), textOf('input'), textOf('output'), heads.splice(0), spoken]))
  }
  return found
}
