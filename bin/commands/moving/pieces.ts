/** Writes the output of an export in pieces. */

/** Joins small pieces, so that each system call writes enough. */
export class OutputPieces {
  readonly #write: (bytes: Uint8Array) => Promise<void>
  #pieces: Uint8Array[] = []
  #bytes = 0

  constructor(write: (bytes: Uint8Array) => Promise<void>) {
    this.#write = write
  }

  async add(piece: Uint8Array): Promise<void> {
    this.#pieces.push(piece)
    this.#bytes += piece.length
    if (this.#bytes >= LEAST_WRITTEN) await this.flush()
  }

  async flush(): Promise<void> {
    if (this.#bytes > 0) await this.#write(Buffer.concat(this.#pieces))
    this.#pieces = []
    this.#bytes = 0
  }
}

const LEAST_WRITTEN = 65_536

/** Converts pieces of NDJSON to pieces of a JSON array. The caller writes the closing bracket. */
export class Elements {
  /** Separator before the next piece. */
  #next = '[\n'

  of(lines: Buffer): Buffer {
    const isEnd = lines.at(-1) === LF
    const text = lines.toString('latin1', 0, isEnd ? lines.length - 1 : lines.length)
    const elements = `${this.#next}${text.replaceAll('\n', ',\n')}`
    this.#next = isEnd ? ',\n' : ''
    return Buffer.from(elements, 'latin1')
  }
}

const LF = '\n'.charCodeAt(0)
