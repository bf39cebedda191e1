/**
 * Writes PostgreSQL protocol messages (https://www.postgresql.org/docs/current/protocol-message-formats.html). A
 * message consists of a type byte, the message's length without the type byte, and the content.
 */
import { CopyWriter } from '../../rows/copy-format.ts'
import type { Execution } from './changes.ts'

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const END_OF_ROWS = -1

const codeOf = (type: string): number => type.charCodeAt(0)
const [QUERY, COPY_DATA, COPY_DONE] = [codeOf('Q'), codeOf('d'), codeOf('c')]
const [PARSE, BIND, EXECUTE, SYNC] = [codeOf('P'), codeOf('B'), codeOf('E'), codeOf('S')]

export class CopyMessages extends CopyWriter {
  get written(): Buffer {
    return this.bytes.subarray(0, this.length)
  }

  query(statements: readonly string[]): void {
    this.#message(QUERY, () => this.#texts(statements.join(';')))
  }

  /**
   * Begins a transaction and executes prepared statements in the transaction. Values are sent as parameters because
   * literals would appear in PostgreSQL's log.
   */
  beginTransaction(executions: readonly Execution[]): void {
    this.#message(PARSE, () => {
      this.#texts('', 'begin')
      this.int16(0)
    })
    this.#execute('', [])
    for (const { name, parameters } of executions) this.#execute(name, parameters)
    this.#message(SYNC, () => {})
  }

  /** Appends the messages that pass the items' rows to a COPY statement. */
  copy<T>(items: readonly T[], write: (item: T) => void): void {
    this.#message(COPY_DATA, () => this.append(SIGNATURE))
    for (const item of items) this.#message(COPY_DATA, () => write(item))
    this.#message(COPY_DATA, () => this.int16(END_OF_ROWS))
    this.#message(COPY_DONE, () => {})
  }

  #execute(name: string, parameters: readonly string[]): void {
    this.#message(BIND, () => {
      this.#texts('', name)
      // Parameters are in text format.
      this.int16(0)
      this.int16(parameters.length)
      for (const parameter of parameters) this.text(parameter)
      this.int16(0)
    })
    this.#message(EXECUTE, () => {
      this.#texts('')
      // 0 means no limit on the number of rows.
      this.int32(0)
    })
  }

  #texts(...texts: readonly string[]): void {
    this.append(Buffer.from(texts.map(text => `${text}\0`).join('')))
  }

  #message(type: number, write: () => void): void {
    this.byte(type)
    const start = this.length
    this.int32(0)
    write()
    this.putInt32(this.length - start, start)
  }
}
