/**
 * Writes a batch of new and changed traces as one transaction, whose messages are sent in one go: the changes of
 * stored rows (lib/store/write/changes.ts), COPY of all new rows, and the totals of projects.
 *
 * COPY has no `on conflict`. If a new trace exists already, or a changed trace no longer has the expected version,
 * PostgreSQL undoes the whole batch. The lane (lib/ingest/writer.ts) then reads the states and decides again.
 */
import type { CopyConnection } from '../../database/copy-connection.ts'
import {
  type Column,
  LIST_COLUMNS,
  NEWS_COLUMNS,
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
import type { KnownFloors } from '../rankings/known-floors.ts'
import { type ChangedTrace, changesOf, PREPARED_CHANGES } from './changes.ts'
import { CHARGE, chargeOf, type TrialCharge } from './charge.ts'
import { CopyMessages } from './copy-messages.ts'
import { KnownFamilies } from './known-families.ts'
import { ADD_UP } from './totals.ts'

/** A new trace: its rows, and the fields that the service adds. */
export interface RecordedTrace {
  readonly projectId: number
  readonly seq: number
  /** A label, 'unassigned', or null for a restored trace whose environment was never recorded. */
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
  /** The writes whose words are to be indexed, since their projects are searched. */
  readonly news: readonly News[]
}

/** A write to a trace, by the version that the trace has after it. */
export interface News {
  readonly projectId: number
  readonly seq: number
  readonly version: number
}

/** Rows that are written for one trace. */
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
const LIST_AT = {
  family: offsetIn(LIST_COLUMNS, 'family', true),
  namedFamily: offsetIn(LIST_COLUMNS, 'named_family', true)
}

/** The memory for messages is used for the next batch again, unless it has grown beyond this. */
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
const newsValues: Readonly<Record<(typeof NEWS_COLUMNS)[number]['name'], (news: News) => Value>> = {
  project_id: ({ projectId }) => projectId,
  seq: ({ seq }) => seq,
  version: ({ version }) => version
}
const writeNews = fieldWriter(NEWS_COLUMNS, newsValues)

const copyInto = (table: string, columns: readonly Column[]) =>
  `copy ${table} (${columns.map(({ name }) => name).join(', ')}) from stdin (format binary)`
const COPY_TRACES = copyInto('traces', TRACE_COLUMNS)
const COPY_SPANS = copyInto('spans', SPAN_COLUMNS)
const COPY_TAGS = copyInto('trace_tags', TAG_COLUMNS)
const COPY_SCORES = copyInto('scores', SCORE_COLUMNS)
const COPY_NEWS = copyInto('search_news', NEWS_COLUMNS)

/** Writes one batch after the other over the connection of a lane. */
export class CopyBatches {
  #messages = new CopyMessages()
  /** The connection on which the statements have been prepared. */
  #prepared: CopyConnection | undefined
  readonly #families = new KnownFamilies()
  readonly #floors: KnownFloors

  constructor(floors: KnownFloors) {
    this.#floors = floors
  }

  /**
   * Writes the whole batch, or nothing and rejects with the error of PostgreSQL or of the connection. `slot` is the
   * row of project_totals to count in.
   */
  async write(connection: CopyConnection, batch: Batch, slot: number): Promise<void> {
    const messages = this.#messages
    if (connection !== this.#prepared) {
      messages.reset()
      // An earlier attempt may have failed halfway and left statements prepared: rolling back does not undo `prepare`.
      messages.query(['deallocate all', PREPARE_TOTALS, CHARGE, ...PREPARED_CHANGES])
      await connection.send(messages.written)
      this.#prepared = connection
    }
    const listed = [...batch.traces, ...batch.changed.flatMap(listedRows)]
    const strange = listed.filter(trace => !this.#families.has(trace))
    const answers = this.#build(batch, listed, strange, slot)
    await connection.send(messages.written, answers)
    for (const trace of strange) this.#families.add(trace)
    if (messages.bytes.length > MAX_KEPT_BYTES) this.#messages = new CopyMessages()
  }

  /**
   * Builds the messages of a batch. Returns how many times PostgreSQL will say that it is ready. `strange` are the
   * traces whose families may not be stored yet.
   */
  #build(
    batch: Batch,
    listed: readonly RowsOf<ListedRows>[],
    strange: readonly RowsOf<ListedRows>[],
    slot: number
  ): number {
    const { traces, changed, charge, news } = batch
    const messages = this.#messages
    messages.reset()
    const tagged = listed.filter(({ rows }) => rows.tags.length > 0)
    const scored = [...traces, ...changed.flatMap(scoreRows)].filter(({ rows }) => rows.scores.length > 0)
    const withSpans = [...traces, ...changed.flatMap(spanRows)].filter(({ rows }) => rows.spans.length > 0)
    const statements: string[] = []
    if (traces.length > 0) statements.push(COPY_TRACES)
    if (withSpans.length > 0) statements.push(COPY_SPANS)
    if (tagged.length > 0) statements.push(COPY_TAGS)
    if (scored.length > 0) statements.push(COPY_SCORES)
    if (news.length > 0) statements.push(COPY_NEWS)
    statements.push(...addFamilies(strange), ...addTotals(batch, slot))
    // These come first, because they are the most likely to fail.
    const first = [
      ...(charge === undefined ? [] : [chargeOf(charge)]),
      ...changesOf(changed, trace => this.#rank(trace))
    ]
    if (first.length > 0) {
      messages.beginTransaction(first)
      statements.push('commit')
    }
    messages.query(statements)
    if (traces.length > 0) messages.copy(traces, trace => this.#trace(trace))
    if (withSpans.length > 0) messages.copy(withSpans, trace => this.#spans(trace))
    if (tagged.length > 0) messages.copy(tagged, trace => this.#tags(trace))
    if (scored.length > 0) messages.copy(scored, trace => this.#scores(trace))
    if (news.length > 0) messages.copy(news, each => this.#news(each))
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

  #news(news: News): void {
    this.#messages.int16(NEWS_COLUMNS.length)
    writeNews(this.#messages, news)
  }

  #tags({ projectId, rows: { bytes, tags, tagsEnd, keys } }: RowsOf<ListedRows>): void {
    const shift = this.#append(bytes, tags, tagsEnd)
    for (const tag of tags) {
      this.#messages.putInt32(projectId, shift + tag + TAG_AT.project)
      const ranked = this.#floors.rank(projectId, keys, bytes, tag + TAG_AT.family, tag + TAG_AT.namedFamily)
      this.#messages.putInt16(ranked, shift + tag + TAG_AT.ranked)
    }
  }

  #scores({ projectId, seq, rows: { bytes, scores, scoresEnd } }: RowsOf<ScoreRows>): void {
    this.#own(projectId, seq, scores, this.#append(bytes, scores, scoresEnd))
  }

  #spans({ projectId, seq, rows: { bytes, spans } }: RowsOf<SpanRows>): void {
    this.#own(projectId, seq, spans, this.#append(bytes, spans, bytes.length))
  }

  /** Appends rows, and returns by how much their offsets have moved. */
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
 * Statements that add the families of traces. They read the families from the rows of the traces, which have been
 * written by then. Every batch adds them in the same order, so that two batches never wait for each other's rows.
 */
function addFamilies(traces: readonly RowsOf<ListedRows>[]): string[] {
  const projects = new Map<number, number[]>()
  for (const { projectId, seq } of traces) projects.set(projectId, [...(projects.get(projectId) ?? []), seq])
  return [...projects]
    .sort(([a], [b]) => a - b)
    .map(
      ([projectId, numbers]) => `insert into trace_families (project_id, family, status, environment, model)
      select distinct on (family) project_id, family, status, environment, model from traces
      where project_id = ${projectId} and seq = any ('{${numbers.join(',')}}'::bigint[]) order by family
      on conflict (project_id, family) do nothing`
    )
}

/** Prepared, so that PostgreSQL parses and plans it once for each connection. */
const PREPARE_TOTALS = `prepare add_totals (int, smallint, bigint, bigint, bigint) as
    insert into project_totals as p (project_id, slot, traces, spans, bytes) values ($1, $2, $3, $4, $5)
    ${ADD_UP}`

function addTotals({ traces, changed }: Batch, slot: number): string[] {
  const totals = new Map<number, { traces: number; spans: number; bytes: number }>()
  const add = (projectId: number, newTraces: number, rows: SpanRows | undefined, bytes: number) => {
    const sum = totals.get(projectId) ?? { traces: 0, spans: 0, bytes: 0 }
    sum.traces += newTraces
    sum.spans += rows?.spans.length ?? 0
    sum.bytes += bytes
    totals.set(projectId, sum)
  }
  for (const { projectId, rows, estimatedBytes } of traces) add(projectId, 1, rows, estimatedBytes)
  for (const {
    projectId,
    spans,
    changed: { sums }
  } of changed)
    add(projectId, 0, spans, sums.addedBytes)
  // Every batch locks projects in the same order, so that two batches never wait for each other's rows.
  return [...totals]
    .sort(([a], [b]) => a - b)
    .map(([id, { traces, spans, bytes }]) => `execute add_totals (${id}, ${slot}, ${traces}, ${spans}, ${bytes})`)
}
