/**
 * Reads rows without decoding the bytes that PostgreSQL sent. Each byte becomes one latin1 character and is later
 * written as one byte. Code that only concatenates columns and searches for ASCII characters produces the same bytes as
 * if the columns were decoded from UTF-8 and encoded again, but uses less CPU (test/bench/RESULTS.md, "Backups").
 */
import type { SpanMessages } from '../../trace/span-messages.ts'

/** A row as received by the driver. */
export type RawRow = readonly (Buffer | null)[]

interface Column {
  readonly name: string
  readonly parser?: ((text: string) => unknown) | undefined
}

/** Reads rows as the driver would, except that each character of a string represents one byte. */
export class RowReader {
  readonly #columns: readonly Column[]

  constructor(columns: readonly Column[]) {
    this.#columns = columns
  }

  row<T>(row: RawRow): T {
    const object: Record<string, unknown> = {}
    for (let i = 0; i < this.#columns.length; i++) object[this.#columns[i]!.name] = this.#read(row, i)
    return object as T
  }

  field(row: RawRow, name: string): unknown {
    return this.#read(
      row,
      this.#columns.findIndex(column => column.name === name)
    )
  }

  #read(row: RawRow, at: number): unknown {
    const text = row[at]?.toString('latin1')
    const parse = this.#columns[at]?.parser
    if (text === undefined) return null
    return parse === undefined ? text : parse(text)
  }
}

/** Converts messages' strings so that each character represents one UTF-8 byte. */
export function bytewise<T extends Pick<SpanMessages, 'input' | 'output'> & { readonly event?: string | null }>(
  messages: T
): T {
  const { input, output, event } = messages
  return { ...messages, input: asBytes(input), output: asBytes(output), event: asBytes(event ?? null) }
}

const asBytes = (text: string | null): string | null => (text === null ? null : Buffer.from(text).toString('latin1'))

/** Joins strings of one-byte characters into pieces, each large enough to justify a separate write. */
export class Pieces {
  readonly #pieces: Buffer[] = []
  #text = ''

  add(text: string): void {
    this.#text += text
    if (this.#text.length >= PIECE_BYTES) this.#flush()
  }

  end(): readonly Buffer[] {
    if (this.#text !== '') this.#flush()
    return this.#pieces
  }

  #flush(): void {
    this.#pieces.push(Buffer.from(this.#text, 'latin1'))
    this.#text = ''
  }
}

const PIECE_BYTES = 65_536
