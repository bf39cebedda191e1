/** Writes tables as CSV and NDJSON, and traces as a dataset. Each character of a string is one byte. */
import { type Cell, csvCell } from '../../csv.ts'
import { raw, text } from '../../store/answers/json-text.ts'
import type { ScoreRow } from '../../store/answers/score-json.ts'
import type { ShownTrace } from '../../store/answers/traces.ts'
import type { TableColumn } from './columns.ts'

/** Turns rows into the bytes of a file, piece by piece. */
export interface TableWriter {
  head(): Uint8Array
  add(rows: readonly (readonly Cell[])[]): Uint8Array
  end(): Uint8Array
}

export const NO_BYTES = new Uint8Array()

const bytesOf = (lines: string): Uint8Array => Buffer.from(lines, 'latin1')

export function csvWriter(columns: readonly TableColumn[]): TableWriter {
  const line = (cells: readonly string[]) => `${cells.join(',')}\r\n`
  return {
    head: () => bytesOf(line(columns.map(({ name }) => name))),
    add(rows) {
      let lines = ''
      for (const row of rows) lines += line(row.map((cell, i) => csvCell(cell, columns[i]!.type)))
      return bytesOf(lines)
    },
    end: () => NO_BYTES
  }
}

export function ndjsonWriter(columns: readonly TableColumn[]): TableWriter {
  const names = columns.map(({ name }) => JSON.stringify(name))
  const jsonOf = (cell: Cell, type: TableColumn['type']) =>
    typeof cell === 'string' && type !== 'json' ? text(cell) : String(cell)
  return {
    head: () => NO_BYTES,
    add(rows) {
      let lines = ''
      for (const row of rows) {
        lines += `{${row.map((cell, i) => `${names[i]}:${jsonOf(cell, columns[i]!.type)}`).join(',')}}\n`
      }
      return bytesOf(lines)
    },
    end: () => NO_BYTES
  }
}

/**
 * Returns a trace's line of a dataset: its input, its output, and the newest score with each name. Undefined for a
 * running trace, whose output has not arrived yet.
 */
export function datasetLine({ trace, scores }: ShownTrace): string | undefined {
  if (trace.endedAt === null) return undefined
  const { id, name, input, output, tags, metadata } = trace
  const newest = new Map<string, ScoreRow>()
  for (const score of scores) if (!newest.has(score.name)) newest.set(score.name, score)
  const values = Array.from(newest.values(), ({ name, value }) => `${text(name)}:${value}`)
  const texts = `"input":${raw(input, 'null')},"output":${raw(output, 'null')}`
  const about = `"tags":${JSON.stringify(tags ?? [])},"metadata":${raw(metadata, '{}')}`
  return `{"id":"${id}","name":${text(name)},${texts},"scores":{${values.join(',')}},${about}}\n`
}
