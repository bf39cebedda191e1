/** Writes a table as a Parquet file, row group by row group. */
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import type { Cell, CellType } from '../../csv.ts'
import { microsOf } from '../../trace/timestamp.ts'
import type { TableColumn } from './columns.ts'
import { NO_BYTES, type TableWriter } from './writers.ts'

/** A row group ends when it has this many rows, or this many bytes of texts. */
const GROUP = { rows: 20_000, bytes: 32 * 1024 * 1024 }

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number]
type Value = string | number | bigint | null

const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const
const ELEMENTS: Readonly<Record<CellType, Pick<SchemaElement, 'type' | 'converted_type' | 'logical_type'>>> = {
  text: TEXT,
  // Parquet's JSON type is not used, because the library would serialise the JSON again and change its numbers.
  json: TEXT,
  integer: { type: 'INT64' },
  number: { type: 'DOUBLE' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' }
  }
}

const decoded = (cell: Cell) => (typeof cell === 'string' ? Buffer.from(cell, 'latin1').toString() : cell)
const VALUES: Readonly<Record<CellType, (cell: Exclude<Cell, null>) => Value>> = {
  text: cell => String(decoded(cell)),
  json: decoded,
  integer: cell => BigInt(cell),
  number: Number,
  time: cell => toMicros(String(cell))
}

/** Converts a time in the API's format, with three or six fraction digits, to microseconds since 1970. */
export function toMicros(time: string): bigint {
  return BigInt(Date.parse(time)) * 1000n + BigInt(microsOf(time))
}

export function parquetWriter(columns: readonly TableColumn[], group = GROUP): TableWriter {
  const bytes = new ByteWriter()
  const schema: SchemaElement[] = [
    { name: 'root', num_children: columns.length },
    ...columns.map(({ name, type }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...ELEMENTS[type] }))
  ]
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: 'spoor' })
  let data: Value[][] = columns.map(() => [])
  let size = 0
  const take = (): Uint8Array => {
    const taken = Buffer.from(bytes.getBytes())
    bytes.index = 0
    return taken
  }
  const write = () => {
    const rows = data[0]?.length ?? 0
    if (rows === 0) return
    file.write({ columnData: columns.map(({ name }, i) => ({ name, data: data[i] as Value[] })), rowGroupSize: rows })
    data = columns.map(() => [])
    size = 0
  }
  return {
    head: take,
    add(rows) {
      for (const row of rows) {
        for (const [i, cell] of row.entries()) {
          data[i]!.push(cell === null ? null : VALUES[columns[i]!.type](cell))
          if (typeof cell === 'string') size += cell.length
        }
        if (data[0]!.length >= group.rows || size >= group.bytes) write()
      }
      return bytes.index === 0 ? NO_BYTES : take()
    },
    end() {
      write()
      file.finish()
      return take()
    }
  }
}
