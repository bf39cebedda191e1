/**
 * Inputs for readers, and their mutations. `corpus` has a folder for each reader, with valid inputs and with every
 * input that has made the reader fail (`found-…`), so that no failure returns.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'

const CORPUS = 'test/torture/input/corpus'
const FOUND = 'found-'

export interface Seed {
  readonly name: string
  readonly bytes: Buffer
  /** Whether the reader must accept the input. */
  readonly isValid: boolean
}

export function readSeeds(reader: string): Seed[] {
  const names = readdirSync(join(CORPUS, reader)).sort()
  return names.map(name => ({
    name,
    bytes: readFileSync(join(CORPUS, reader, name)),
    isValid: !name.startsWith(FOUND)
  }))
}

/** Adds an input to the corpus, and returns its path. */
export function keepInput(reader: string, bytes: Uint8Array): string {
  const path = join(CORPUS, reader, FOUND + createHash('sha256').update(bytes).digest('hex').slice(0, 12))
  writeFileSync(path, bytes)
  return path
}

/** Bytes with a meaning in one of the formats: JSON, UTF-8, numbers at limits, varints, and ends of lines. */
const PIECES = [
  ...['', '"', '\\', '\\u', '\\ud800', '{', '}', '[', ']', ':', ',', 'null', 'true', '0', '-', '1e999', '-0', '1.5'],
  ...['\n', '\r\n', '\ufeff', '\u0000', '"__proto__":{}', '[[[[[[[[[[[[[[[[', '9007199254740993', '1E-400', 'é', '😀'],
  ...['{"a":', '"id":"', '2026-02-30T25:61:61Z', '18446744073709551616', '[]', '{}', '""']
]
  .map(text => Buffer.from(text))
  .concat(
    [
      [0xff],
      [0xc3],
      [0xed, 0xa0, 0x80],
      [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
      [0x07],
      [0x0b]
    ].map(bytes => Buffer.from(bytes)),
    [Buffer.alloc(10, 0xff), Buffer.alloc(64, 0x7b), Buffer.alloc(300, 0x41)]
  )

const someEdit = fc.record({
  kind: fc.constantFrom('flip', 'set', 'cut', 'insert', 'replace', 'repeat', 'splice', 'end'),
  at: fc.nat(),
  length: fc.nat(40),
  value: fc.nat(255),
  piece: fc.constantFrom(...PIECES)
})
type Edit = typeof someEdit extends fc.Arbitrary<infer T> ? T : never

export const someMutation = fc.record({
  seed: fc.nat(),
  other: fc.nat(),
  edits: fc.array(someEdit, { minLength: 1, maxLength: 5 })
})
type Mutation = typeof someMutation extends fc.Arbitrary<infer T> ? T : never

/** Maximum size of a mutated input, because edits may repeat it. */
const MOST_BYTES = 100_000

export function mutate(pool: readonly Buffer[], { seed, other, edits }: Mutation): Buffer {
  const [start, donor] = [seed, other].map(place => pool[place % pool.length]!)
  return edits.reduce((bytes, edit) => applyEdit(bytes, donor!, edit).subarray(0, MOST_BYTES), start!)
}

function applyEdit(bytes: Buffer, donor: Buffer, { kind, at, length, value, piece }: Edit): Buffer {
  const from = at % (bytes.length + 1)
  const [before, part, after] = [
    bytes.subarray(0, from),
    bytes.subarray(from, from + length),
    bytes.subarray(from + length)
  ]
  switch (kind) {
    case 'flip':
    case 'set': {
      const changed = Buffer.from(bytes)
      if (from < changed.length) changed[from] = kind === 'set' ? value : changed[from]! ^ (1 << (value % 8))
      return changed
    }
    case 'cut':
      return Buffer.concat([before, after])
    case 'insert':
      return Buffer.concat([before, piece, part, after])
    case 'replace':
      return Buffer.concat([before, piece, after])
    case 'repeat':
      return Buffer.concat([before, ...Array<Buffer>((value % 20) + 2).fill(part), after])
    case 'splice': {
      const place = value % (donor.length + 1)
      return Buffer.concat([before, donor.subarray(place, place + 8 * length), after])
    }
    case 'end':
      return before
  }
}
