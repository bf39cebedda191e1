/**
 * Prepared traces and spans as the text that goes into the statement's parameters. What the body says is rendered where
 * it was prepared (on a worker thread, for large bodies); what the service adds is joined to it when the batch is
 * written.
 */

import type { TraceChange } from '../trace/decide.ts'
import { UNASSIGNED } from '../trace/environment.ts'
import type { Growth } from '../trace/gathered.ts'
import type { Past, PreparedSpan, PreparedTrace, RestoredTrace } from '../trace/prepared.ts'
import {
  appendValues,
  type ChangeTarget,
  endValues,
  growthValues,
  pastValues,
  scoreValues,
  spanHeadValues,
  traceValues
} from './column-values.ts'
import {
  APPEND_COLUMNS,
  type Column,
  cell,
  END_COLUMNS,
  GROWTH_COLUMNS,
  joinCells,
  OWNER_COLUMNS,
  parameter,
  RESTORED_COLUMNS,
  SCORE_BODY_COLUMNS,
  SCORE_COLUMNS,
  SPAN_COLUMNS,
  SPAN_HEAD_COLUMNS,
  STORED_TEXT_COLUMNS,
  TRACE_BODY_COLUMNS,
  TRACE_COLUMNS,
  TRACE_PAST_COLUMNS,
  TRACE_SERVICE_COLUMNS,
  type Value
} from './columns.ts'
import { packTexts, type StoredTexts, textValues } from './packed-texts.ts'

/** Spans, or scores, as text: per body column the cells of all of them, joined. None gives no columns. */
export interface RowsText {
  readonly count: number
  readonly columns: readonly string[]
}

/** What a restored trace brings along, rendered. */
export interface PastText extends Pick<Past, 'environment' | 'keyId' | 'ingestedAt'> {
  /** One cell per past column. */
  readonly cells: readonly string[]
  readonly scores: RowsText
}

/** A trace to record or restore, as text for the statement. */
export interface RecordText {
  /** One cell per body column. */
  readonly cells: readonly string[]
  readonly spans: RowsText
  /** Set where the trace is restored. */
  readonly past?: PastText
}

/** A function that gives the cells of an item, one for each column: the values are looked up once. */
function cellsOf<T, N extends string>(
  columns: readonly (Column & { readonly name: N })[],
  values: Readonly<Record<N, (item: T) => Value>>
): (item: T) => string[] {
  const fields = columns.map(column => ({ column, value: values[column.name] }))
  return item => fields.map(({ column, value }) => cell(column, value(item)))
}

const traceCells = cellsOf(TRACE_BODY_COLUMNS, traceValues)
const pastCells = cellsOf(TRACE_PAST_COLUMNS, pastValues)
const appendCells = cellsOf(APPEND_COLUMNS, appendValues)
const endCells = cellsOf(END_COLUMNS, endValues)
const growthCells = cellsOf(GROWTH_COLUMNS, growthValues)

function renderRows<T, N extends string>(
  columns: readonly (Column & { readonly name: N })[],
  values: Readonly<Record<N, (item: T) => Value>>,
  items: readonly T[]
): RowsText {
  if (items.length === 0) return { count: 0, columns: [] }
  const texts = columns.map(column => {
    const value = values[column.name]
    return joinCells(
      column,
      items.map(item => cell(column, value(item)))
    )
  })
  return { count: items.length, columns: texts }
}

/** `hurries`: texts are packed only where that takes no time. */
export function renderSpans(spans: readonly PreparedSpan[], hurries = true): RowsText {
  return renderStoredSpans(spans, packTexts(spans, hurries))
}

/** With the texts of each as they are stored. */
export function renderStoredSpans(spans: readonly PreparedSpan[], stored: readonly StoredTexts[]): RowsText {
  const texts = renderRows(STORED_TEXT_COLUMNS, textValues, stored)
  const heads = renderRows(SPAN_HEAD_COLUMNS, spanHeadValues, spans)
  return { count: spans.length, columns: [...texts.columns, ...heads.columns] }
}

export function renderTrace(trace: PreparedTrace, hurries = true): RecordText {
  return {
    cells: traceCells(trace),
    spans: renderSpans(trace.spans, hurries)
  }
}

export function renderRestored(trace: RestoredTrace, hurries: boolean): RecordText {
  const { past } = trace
  const record = renderTrace(trace, hurries)
  const estimate = TRACE_BODY_COLUMNS.findIndex(column => column.name === 'estimated_bytes')
  return {
    ...record,
    cells: past.estimatedBytes === undefined ? record.cells : record.cells.with(estimate, String(past.estimatedBytes)),
    past: {
      environment: past.environment,
      keyId: past.keyId,
      ingestedAt: past.ingestedAt,
      cells: pastCells(past),
      scores: renderRows(SCORE_BODY_COLUMNS, scoreValues, past.scores)
    }
  }
}

/** The parameters of a list of columns from rows of cells (or of cells joined before); undefined for no rows. */
function parameters(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] | undefined {
  if (rows.length === 0) return undefined
  return columns.map((column, i) =>
    parameter(
      column,
      joinCells(
        column,
        rows.map(row => row[i] as string)
      )
    )
  )
}

/** What the service adds to a trace that it records. */
export interface Stamp {
  readonly projectId: number
  readonly seq: number
  readonly environment: string | null
  readonly keyId: string | null
  readonly ingestedAt: string
}

/** Gathers the rows of one batch. */
export class BatchRows {
  #traces: (readonly string[])[] = []
  #restored: (readonly string[])[] = []
  #appends: (readonly string[])[] = []
  #ends: (readonly string[])[] = []
  #growths: (readonly string[])[] = []
  #spans: (readonly string[])[] = []
  #scores: (readonly string[])[] = []

  insert(stamp: Stamp, record: RecordText): void {
    const { projectId, seq } = stamp
    const { past } = record
    const { environment, keyId, ingestedAt } = past ?? { ...stamp, environment: stamp.environment ?? UNASSIGNED }
    const values = [projectId, seq, seq, environment, keyId, ingestedAt]
    const cells = [...TRACE_SERVICE_COLUMNS.map((column, i) => cell(column, values[i]!)), ...record.cells]
    if (past === undefined) {
      this.#traces.push(cells)
    } else {
      this.#restored.push([...cells, ...past.cells])
      addOwned(this.#scores, projectId, seq, past.scores)
    }
    addOwned(this.#spans, projectId, seq, record.spans)
  }

  /** `added`: the rows of the spans that come to it, where they are not copied. */
  change(target: ChangeTarget, change: TraceChange, added?: RowsText): void {
    const { ending, spans } = change
    const changed = { target, sums: change, added: spans.length }
    if (ending === undefined) this.#appends.push(appendCells(changed))
    else this.#ends.push(endCells({ ...changed, done: ending }))
    if (added !== undefined) addOwned(this.#spans, target.projectId, target.seq, added)
  }

  grow(target: ChangeTarget, growth: Growth, added: RowsText): void {
    this.#growths.push(growthCells({ target, sums: growth, added: added.count, done: growth }))
    addOwned(this.#spans, target.projectId, target.seq, added)
  }

  get parameters() {
    return {
      traces: parameters(TRACE_COLUMNS, this.#traces),
      restored: parameters(RESTORED_COLUMNS, this.#restored),
      appends: parameters(APPEND_COLUMNS, this.#appends),
      ends: parameters(END_COLUMNS, this.#ends),
      growths: parameters(GROWTH_COLUMNS, this.#growths),
      spans: parameters(SPAN_COLUMNS, this.#spans),
      scores: parameters(SCORE_COLUMNS, this.#scores)
    }
  }
}

/** Adds spans or scores with the columns that say whose they are. */
function addOwned(rows: (readonly string[])[], projectId: number, seq: number, text: RowsText): void {
  if (text.count === 0) return
  const repeat = (column: Column, value: number) => joinCells(column, new Array(text.count).fill(String(value)))
  const [project, trace] = OWNER_COLUMNS
  rows.push([repeat(project, projectId), repeat(trace, seq), ...text.columns])
}
