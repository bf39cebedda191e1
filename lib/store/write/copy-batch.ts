/**
 * Writes a batch of new and changed traces as one transaction. All messages of the transaction are sent together:
 * changes to stored rows (lib/store/write/changes.ts), COPY of all new rows, and project totals.
 *
 * COPY has no `on conflict`. If a new trace already exists, or a changed trace no longer has the expected version,
 * PostgreSQL rolls back the whole batch. The lane (lib/ingest/writer.ts) then reads the traces' states and decides
 * again.
 */

import type { CopyConnection } from '../../database/copy-connection.ts'
import type { TableNames } from '../../database/tables.ts'
import {
  type Column,
  DELTA_COLUMNS,
  INDEXED_COLUMNS,
  LIST_COLUMNS,
  offsetIn,
  SCORE_COLUMNS,
  SPAN_COLUMNS,
  TAG_COLUMNS,
  TRACE_COLUMNS,
  TRACE_STAMP_COLUMNS,
  type Value
} from '../../rows/columns.ts'
import { fieldWriter } from '../../rows/copy-format.ts'
import type { ListedRows, SpanRows, TraceRows } from '../../rows/copy-rows.ts'
import type { ScoreRows } from '../../rows/score-rows.ts'
import { noteAll, prepareNote } from '../changes/news.ts'
import type { KnownFloors } from '../rankings/known-floors.ts'
import { type ChangedTrace, changesOf, type Execution, prepareChanges } from './changes.ts'
import { CHARGE, chargeOf, type TrialCharge } from './charge.ts'
import { CopyMessages } from './copy-messages.ts'
import { type Home, type Homes, type Tables, tablesOf } from './homes.ts'
import { KnownFamilies } from './known-families.ts'
import { ADD_UP } from './totals.ts'

/** A new trace: its rows, and the fields that the service adds. */
export interface RecordedTrace {
  readonly projectId: number
  readonly seq: number
  /**
   * The trace's environment: a label or 'unassigned'; null for a restored trace whose environment was never recorded.
   */
  readonly environment: string | null
  readonly keyId: string | null
  readonly ingestedAt: string | null
  readonly estimatedBytes: number
  readonly rows: TraceRows
}

/**
 * Everything that one transaction writes. `charge` is set only if the batch is a single new trace of a trial account.
 */
export interface Batch {
  readonly traces: readonly RecordedTrace[]
  readonly changed: readonly ChangedTrace[]
  readonly charge: TrialCharge | undefined
  /** Writes that must be indexed because search is on for their projects. */
  readonly indexed: readonly Indexed[]
  /**
   * Homes of the batch's projects. If undefined, the schema's tables are used. If set, `charge` must be undefined,
   * because accounts are on another server.
   */
  readonly homes?: Homes | undefined
}

/** A write to a trace, identified by the trace's version after the write. */
export interface Indexed {
  readonly projectId: number
  readonly seq: number
  readonly version: number
}

/** Rows of a batch that go to the same tables. */
interface Part {
  readonly home: Home | undefined
  readonly tables: Tables
  readonly traces: readonly RecordedTrace[]
  readonly changed: readonly ChangedTrace[]
  readonly indexed: readonly Indexed[]
}

interface RowsOf<T> {
  readonly projectId: number
  readonly seq: number
  readonly rows: T
}

const OWNER_AT = { project: offsetIn(SPAN_COLUMNS, 'project_id'), trace: offsetIn(SPAN_COLUMNS, 'trace_seq') }
const TAG_AT = {
  project: offsetIn(TAG_COLUMNS, 'project_id'),
  ranked: offsetIn(TAG_COLUMNS, 'ranked'),
  family: offsetIn(TAG_COLUMNS, 'tag_family'),
  namedFamily: offsetIn(TAG_COLUMNS, 'tag_named_family')
}
const DELTA_AT = { project: offsetIn(DELTA_COLUMNS, 'project_id') }
const LIST_AT = {
  family: offsetIn(LIST_COLUMNS, 'family', true),
  namedFamily: offsetIn(LIST_COLUMNS, 'named_family', true)
}

/** Maximum size, in bytes, of a message buffer that is reused for the next batch. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024

interface Stamped {
  readonly trace: RecordedTrace
  readonly ranked: number
}
const stampValues: Readonly<Record<(typeof TRACE_STAMP_COLUMNS)[number]['name'], (stamped: Stamped) => Value>> = {
  project_id: ({ trace }) => trace.projectId,
  seq: ({ trace }) => trace.seq,
  version: ({ trace }) => trace.seq,
  environment: ({ trace }) => trace.environment,
  key_id: ({ trace }) => trace.keyId,
  ingested_at: ({ trace }) => trace.ingestedAt,
  ranked: ({ ranked }) => ranked
}
const writeStamp = fieldWriter(TRACE_STAMP_COLUMNS, stampValues)
const indexedValues: Readonly<Record<(typeof INDEXED_COLUMNS)[number]['name'], (indexed: Indexed) => Value>> = {
  project_id: ({ projectId }) => projectId,
  seq: ({ seq }) => seq,
  version: ({ version }) => version
}
const writeIndexed = fieldWriter(INDEXED_COLUMNS, indexedValues)

/** Returns the part of a COPY statement that follows the table name. */
const copyOf = (columns: readonly Column[]) =>
  `(${columns.map(({ name }) => name).join(', ')}) from stdin (format binary)`
const COPY = {
  traces: copyOf(TRACE_COLUMNS),
  spans: copyOf(SPAN_COLUMNS),
  trace_tags: copyOf(TAG_COLUMNS),
  rollup_news: copyOf(DELTA_COLUMNS),
  search_news: copyOf(INDEXED_COLUMNS),
  scores: copyOf(SCORE_COLUMNS)
}

/** Writes batches one after another over a lane's connections. */
export class CopyBatches {
  #messages = new CopyMessages()
  /** Suffixes of the statements prepared on each connection. */
  readonly #prepared = new WeakMap<CopyConnection, Set<string>>()
  readonly #families = new KnownFamilies()
  readonly #floors: KnownFloors

  constructor(floors: KnownFloors) {
    this.#floors = floors
  }

  /**
   * Writes the whole batch, or writes nothing and rejects with the error from PostgreSQL or the connection. `slot` is
   * the row of project_totals to count in.
   */
  async write(connection: CopyConnection, batch: Batch, slot: number): Promise<void> {
    const parts = partsOf(batch)
    await this.#prepare(connection, parts, batch)
    const strange: RowsOf<ListedRows>[] = []
    const answers = this.#build(parts, batch, slot, strange)
    await connection.send(this.#messages.written, answers)
    for (const trace of strange) this.#families.add(trace)
    if (this.#messages.bytes.length > MAX_KEPT_BYTES) this.#messages = new CopyMessages()
  }

  /** Prepares the statements for these parts' tables, except statements that are already prepared on the connection. */
  async #prepare(connection: CopyConnection, parts: readonly Part[], { homes }: Batch): Promise<void> {
    const known = this.#prepared.get(connection)
    const missing = parts.filter(({ tables }) => known?.has(tables.suffix) !== true)
    if (missing.length === 0) return
    this.#prepared.delete(connection)
    const statements = missing.flatMap(({ tables }) => [
      prepareTotals(tables),
      prepareNote(tables),
      ...(homes === undefined ? [CHARGE] : []),
      ...prepareChanges(tables)
    ])
    const messages = this.#messages
    messages.reset()
    // An earlier attempt may have left statements prepared, because a rollback does not undo `prepare`.
    if (known === undefined) statements.unshift('deallocate all', ...prepareGuards(homes))
    messages.query(statements)
    await connection.send(messages.written)
    this.#prepared.set(connection, new Set([...(known ?? []), ...missing.map(({ tables }) => tables.suffix)]))
  }

  /**
   * Builds a batch's messages, and adds to `strange` the traces whose families may not be stored yet. Returns the
   * number of ReadyForQuery messages to expect from PostgreSQL.
   */
  #build(parts: readonly Part[], { charge, homes }: Batch, slot: number, strange: RowsOf<ListedRows>[]): number {
    const messages = this.#messages
    messages.reset()
    const statements: string[] = []
    // These statements come first because they are the most likely to fail.
    const first = [...guard(homes, parts), ...(charge === undefined ? [] : [chargeOf(charge)])]
    const copies: (() => void)[] = []
    for (const { tables, traces, changed, indexed } of parts) {
      const { names, suffix } = tables
      const copy = <T>(table: keyof typeof COPY, items: readonly T[], write: (item: T) => void) => {
        if (items.length === 0) return
        statements.push(`copy ${names[table]} ${COPY[table]}`)
        copies.push(() => messages.copy(items, write))
      }
      const listed = [...traces, ...changed.flatMap(listedRows)]
      const tagged = listed.filter(({ rows }) => rows.tags.length > 0)
      const counted = listed.filter(({ rows }) => rows.deltas.length > 0)
      const scored = [...traces, ...changed.flatMap(scoreRows)].filter(({ rows }) => rows.scores.length > 0)
      const withSpans = [...traces, ...changed.flatMap(spanRows)].filter(({ rows }) => rows.spans.length > 0)
      const unknown = listed.filter(trace => !this.#families.has(trace))
      strange.push(...unknown)
      copy('traces', traces, trace => this.#trace(trace))
      copy('spans', withSpans, trace => this.#spans(trace))
      copy('trace_tags', tagged, trace => this.#tags(trace))
      copy('rollup_news', counted, trace => this.#deltas(trace))
      copy('search_news', indexed, each => this.#indexed(each))
      copy('scores', scored, trace => this.#scores(trace))
      statements.push(...addFamilies(unknown, names), ...addTotals({ traces, changed }, slot, tables))
      statements.push(...noteAll([...traces, ...changed], tables))
      first.push(...changesOf(changed, trace => this.#rank(trace), suffix))
    }
    if (first.length > 0) {
      messages.beginTransaction(first)
      statements.push('commit')
    }
    messages.query(statements)
    for (const write of copies) write()
    return first.length > 0 ? 2 : 1
  }

  #rank({ projectId, listed }: ChangedTrace): number {
    const { keys, bytes } = (listed as NonNullable<typeof listed>).rows
    return this.#floors.rank(projectId, keys, bytes, LIST_AT.family, LIST_AT.namedFamily)
  }

  #trace(trace: RecordedTrace): void {
    const { bytes, keys, tags, tagsEnd } = trace.rows
    const ranked = this.#floors.rank(trace.projectId, keys, bytes, LIST_AT.family, LIST_AT.namedFamily)
    this.#messages.int16(TRACE_COLUMNS.length)
    writeStamp(this.#messages, { trace, ranked })
    this.#messages.append(bytes.subarray(0, tags[0] ?? tagsEnd))
  }

  #tags({ projectId, rows: { bytes, tags, tagsEnd, keys } }: RowsOf<ListedRows>): void {
    const shift = this.#append(bytes, tags, tagsEnd)
    for (const tag of tags) {
      this.#messages.putInt32(projectId, shift + tag + TAG_AT.project)
      const ranked = this.#floors.rank(projectId, keys, bytes, tag + TAG_AT.family, tag + TAG_AT.namedFamily)
      this.#messages.putInt16(ranked, shift + tag + TAG_AT.ranked)
    }
  }

  #deltas({ projectId, rows: { bytes, deltas, deltasEnd } }: RowsOf<ListedRows>): void {
    const shift = this.#append(bytes, deltas, deltasEnd)
    for (const row of deltas) this.#messages.putInt32(projectId, shift + row + DELTA_AT.project)
  }

  #indexed(indexed: Indexed): void {
    this.#messages.int16(INDEXED_COLUMNS.length)
    writeIndexed(this.#messages, indexed)
  }

  #scores({ projectId, seq, rows: { bytes, scores, scoresEnd } }: RowsOf<ScoreRows>): void {
    this.#own(projectId, seq, scores, this.#append(bytes, scores, scoresEnd))
  }

  #spans({ projectId, seq, rows: { bytes, spans } }: RowsOf<SpanRows>): void {
    this.#own(projectId, seq, spans, this.#append(bytes, spans, bytes.length))
  }

  /** Appends rows and returns the number of bytes by which their offsets shift. */
  #append(bytes: Uint8Array, starts: readonly number[], end: number): number {
    const [first] = starts as [number]
    const shift = this.#messages.length - first
    this.#messages.append(bytes.subarray(first, end))
    return shift
  }

  #own(projectId: number, seq: number, starts: readonly number[], shift: number): void {
    for (const start of starts) {
      this.#messages.putInt32(projectId, shift + start + OWNER_AT.project)
      this.#messages.putInt64(seq, shift + start + OWNER_AT.trace)
    }
  }
}

const listedRows = ({ projectId, seq, listed }: ChangedTrace): RowsOf<ListedRows>[] =>
  listed === undefined ? [] : [{ projectId, seq, rows: listed.rows }]

const spanRows = ({ projectId, seq, spans }: ChangedTrace): RowsOf<SpanRows>[] =>
  spans === undefined ? [] : [{ projectId, seq, rows: spans }]

const scoreRows = ({ projectId, seq, scores }: ChangedTrace): RowsOf<ScoreRows>[] =>
  scores === undefined ? [] : [{ projectId, seq, rows: scores }]

/**
 * Splits a batch by home. Every batch processes homes, like projects, in the same order, so that two batches cannot
 * deadlock.
 */
function partsOf({ traces, changed, indexed, homes }: Batch): readonly Part[] {
  if (homes === undefined) return [{ home: undefined, tables: tablesOf(undefined), traces, changed, indexed }]
  const parts = new Map<number, OpenPart>()
  const partOf = ({ projectId }: { readonly projectId: number }) => {
    const home = homes.of(projectId)
    const part = parts.get(home.id) ?? { home, tables: tablesOf(home), traces: [], changed: [], indexed: [] }
    parts.set(home.id, part)
    return part
  }
  for (const trace of traces) partOf(trace).traces.push(trace)
  for (const trace of changed) partOf(trace).changed.push(trace)
  for (const each of indexed) partOf(each).indexed.push(each)
  return [...parts].sort(([a], [b]) => a - b).map(([, part]) => part)
}

type OpenPart = Pick<Part, 'home' | 'tables'> & {
  readonly traces: RecordedTrace[]
  readonly changed: ChangedTrace[]
  readonly indexed: Indexed[]
}

const prepareGuards = (homes: Homes | undefined): string[] =>
  homes === undefined ? [] : homes.guards.map(({ name, text }) => `prepare ${name} (bigint[]) as ${text}`)

function guard(homes: Homes | undefined, parts: readonly Part[]): Execution[] {
  if (homes === undefined) return []
  const parameters = [`{${parts.flatMap(({ home }) => home?.id ?? []).join(',')}}`]
  return homes.guards.map(({ name }) => ({ name, parameters }))
}

/**
 * Returns statements that add the traces' families. The families are read from the trace rows, which have already been
 * written when these statements run. Every batch adds families in the same order, so that two batches cannot deadlock.
 */
function addFamilies(traces: readonly RowsOf<ListedRows>[], names: TableNames): string[] {
  const projects = new Map<number, number[]>()
  for (const { projectId, seq } of traces) projects.set(projectId, [...(projects.get(projectId) ?? []), seq])
  return [...projects]
    .sort(([a], [b]) => a - b)
    .map(
      ([projectId, numbers]) => `insert into ${names.trace_families} (project_id, family, status, environment, model)
      select distinct on (family) project_id, family, status, environment, model from ${names.traces}
      where project_id = ${projectId} and seq = any ('{${numbers.join(',')}}'::bigint[]) order by family
      on conflict (project_id, family) do nothing`
    )
}

/** The statement is prepared, so that PostgreSQL parses and plans it once per connection. */
const prepareTotals = ({ names, suffix }: Tables) => `
  prepare add_totals${suffix} (int, smallint, bigint, bigint, bigint) as
    insert into ${names.project_totals} as p (project_id, slot, traces, spans, bytes) values ($1, $2, $3, $4, $5)
    ${ADD_UP}`

function addTotals({ traces, changed }: Pick<Batch, 'traces' | 'changed'>, slot: number, { suffix }: Tables): string[] {
  const totals = new Map<number, { traces: number; spans: number; bytes: number }>()
  const add = (projectId: number, newTraces: number, rows: SpanRows | undefined, bytes: number) => {
    const sum = totals.get(projectId) ?? { traces: 0, spans: 0, bytes: 0 }
    sum.traces += newTraces
    sum.spans += rows?.spans.length ?? 0
    sum.bytes += bytes
    totals.set(projectId, sum)
  }
  for (const { projectId, rows, estimatedBytes } of traces) add(projectId, 1, rows, estimatedBytes)
  for (const { projectId, spans, removed, changed: each } of changed) {
    add(projectId, 0, spans, each.sums.addedBytes)
    const sum = totals.get(projectId)
    if (sum !== undefined) sum.spans -= removed?.length ?? 0
  }
  // Every batch locks projects in the same order, so that two batches cannot deadlock.
  return [...totals]
    .sort(([a], [b]) => a - b)
    .map(
      ([id, { traces, spans, bytes }]) => `execute add_totals${suffix} (${id}, ${slot}, ${traces}, ${spans}, ${bytes})`
    )
}
