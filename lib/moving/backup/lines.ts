/** Reads the lines of a backup with one line of lookahead. */
import type { SplitValue } from '../json-splitter.ts'
import type { DecodedLine, DecodedPage } from './decoded-lines.ts'
import type { LineName, LineOf } from './format.ts'

type Name = DecodedLine['name']
type ValueOf<K extends Name> = K extends LineName ? LineOf<K> : K extends 'trace' ? SplitValue : DecodedPage | null

/** Maximum number of lines handled together. */
const BATCH = 1000

export class Lines {
  readonly #source: AsyncIterator<DecodedLine>
  #next: DecodedLine | undefined

  constructor(source: AsyncIterable<DecodedLine>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  async peek(): Promise<DecodedLine | undefined> {
    if (this.#next === undefined) {
      const { done, value } = await this.#source.next()
      this.#next = done ? undefined : value
    }
    return this.#next
  }

  /** Takes the next line if it has this name. */
  async take<K extends Name>(name: K): Promise<ValueOf<K> | undefined> {
    const line = await this.peek()
    if (line?.name !== name) return undefined
    this.#next = undefined
    return line.value as ValueOf<K>
  }

  /** Takes lines for as long as they have this name. */
  async *all<K extends Name>(name: K): AsyncGenerator<ValueOf<K>, void> {
    for (let value = await this.take(name); value !== undefined; value = await this.take(name)) yield value
  }

  async list<K extends Name>(name: K): Promise<ValueOf<K>[]> {
    const values: ValueOf<K>[] = []
    for await (const value of this.all(name)) values.push(value)
    return values
  }

  async *batches<K extends Name>(name: K): AsyncGenerator<ValueOf<K>[], void> {
    let batch: ValueOf<K>[] = []
    for await (const value of this.all(name)) {
      batch.push(value)
      if (batch.length < BATCH) continue
      yield batch
      batch = []
    }
    if (batch.length > 0) yield batch
  }

  async close(): Promise<void> {
    await this.#source.return?.()
  }
}
