/**
 * Reads pages of a backup: the rows of some traces as PostgreSQL sends them in COPY's binary format. The rows of texts
 * stay packed, and are stored as they are. What derives from a trace's fields, such as the numbers of its lists, is
 * computed again.
 *
 * Anyone can edit a backup. A page is therefore checked for the values that code relies on, and PostgreSQL checks the
 * rest, such as JSON and UTF-8. Packed texts are unpacked to check that they can be read, but not parsed.
 */

import type { ListedTrace } from '../../rows/column-values.ts'
import {
  type Column,
  SCORE_COLUMNS,
  SPAN_COLUMNS,
  SPAN_HEAD_COLUMNS,
  TRACE_BODY_COLUMNS,
  TRACE_TEXT_COLUMNS
} from '../../rows/columns.ts'
import { renderCopiedRows, type TraceRows, textsOfRows } from '../../rows/copy-rows.ts'
import { areReadable } from '../../rows/packed-check.ts'
import type { Allocate } from '../../rows/thread-bytes.ts'
import { FIELD_VALUES } from '../../schema/field-values.ts'
import { UNASSIGNED } from '../../trace/environment.ts'
import { PageFault, RowCursor } from './row-cursor.ts'

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

/** Yields the traces of a page. Throws a PageFault at the first value that no backup contains. */
export function* tracesInPage(page: StoredPage): Generator<CopiedTrace> {
  const allocate = inBlocks()
  const traces = new RowCursor(page.traces, PAGE_COLUMNS.traces)
  const packed = new PackedSpans()
  let lacksHashes = false
  const spans = new OwnedRows(page.spans, PAGE_COLUMNS.spans, row => {
    checkSpan(row)
    packed.add(row)
    const isHashed = row.hex('hash', 16) !== null
    lacksHashes ||= !isHashed
  })
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
    // Appended and exported spans are compared with the stored ones.
    if (lacksHashes && (trace.endedAt === null || traces.text('ranks') !== null))
      throw new PageFault(`has spans without a hash in trace ${trace.traceId}, which accepts further spans`)
    lacksHashes = false
    if (!packed.takeReadable()) throw new PageFault(`has texts of trace ${trace.traceId} that cannot be unpacked`)
    const environment = traces.text('environment')
    checkLabels(environment, traces.text('key_id'))
    yield {
      traceId: trace.traceId,
      hash: traces.hex('body_hash', 32) as string,
      running: trace.endedAt === null,
      spanCount: own.spans.starts.length,
      estimatedBytes: traces.number('estimated_bytes') ?? 0,
      copied: { environment, keyId: traces.text('key_id'), ingestedAt: traces.time('ingested_at') },
      rows: renderCopiedRows(trace, environment ?? '', { body: traces.from('id'), ...own }, allocate)
    }
  }
  if (!spans.isDone || !scores.isDone) throw new PageFault('has rows without a trace')
}

const BLOCK_BYTES = 1024 * 1024

/** Returns an allocator that divides blocks of shared memory (lib/rows/thread-bytes.ts): each block costs time. */
function inBlocks(): Allocate {
  let block = new SharedArrayBuffer(0)
  let at = 0
  return size => {
    if (at + size > block.byteLength) {
      block = new SharedArrayBuffer(Math.max(size, BLOCK_BYTES))
      at = 0
    }
    at += size
    return new Uint8Array(block, at - size, size)
  }
}

const STATUSES: readonly string[] = FIELD_VALUES.status
const KINDS: readonly string[] = FIELD_VALUES.spanKind
const LABEL = /^[a-z0-9][a-z0-9_-]{0,31}$/
const KEY_ID = /^[0-9A-Za-z_-]{1,64}$/
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
  if (!isLabel) throw new PageFault('has an invalid environment')
  if (keyId !== null && !KEY_ID.test(keyId)) throw new PageFault('has an invalid key id')
}

function checkSpan(row: RowCursor): void {
  if (row.hex('id', 8) === null) throw new PageFault('has a span without an id')
  row.hex('parent_id', 8)
  if (!KINDS.includes(row.text('kind') ?? '')) throw new PageFault('has a span of an unknown kind')
  if (!STATUSES.includes(row.text('status') ?? '')) throw new PageFault('has a span with an unknown status')
  row.checkLengths(['name', 'provider', 'model'])
}

/** The packed texts of a trace's spans. */
class PackedSpans {
  #slices: Buffer[] = []
  #ids = new Set<string>()

  add(row: RowCursor): void {
    const slice = row.slice('packed')
    if (slice !== null) this.#slices.push(slice)
    this.#ids.add(row.hex('id', 8) as string)
  }

  /** Whether the texts of the spans since the last call can be read. */
  takeReadable(): boolean {
    const isReadable = areReadable(this.#slices, this.#ids)
    this.#slices = []
    this.#ids = new Set()
    return isReadable
  }
}

function checkScore(row: RowCursor): void {
  if (row.hex('id', 8) === null) throw new PageFault('has a score without an id')
  row.hex('span_id', 8)
  if (!(FIELD_VALUES.dataType as readonly string[]).includes(row.text('data_type') ?? ''))
    throw new PageFault('has a score of an unknown type')
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
