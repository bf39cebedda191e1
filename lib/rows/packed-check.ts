/** Checks packed texts that come from a file. Readers rely on the form that lib/rows/packed-texts.ts describes. */
import { isUtf8 } from 'node:buffer'
import { brotliDecompressSync } from 'node:zlib'
import { SPAN_TEXT_COLUMNS } from './columns.ts'
import { joinSlices, MAX_BLOCK_BYTES } from './packed-texts.ts'

const LENGTH_BYTES = 4
const ID_BYTES = 8
const NULL_LENGTH = -1
/** Compressed blocks may expand to anything, so the check stops well above the length of any block. */
const MOST_UNPACKED = 4 * MAX_BLOCK_BYTES

/**
 * Whether the slices of a trace contain whole blocks, and every block contains five fields in UTF-8 for each of its
 * spans, all of which are in `ids`. Texts are not parsed, which would take several times as long as unpacking.
 */
export function areReadable(slices: readonly Buffer[], ids: ReadonlySet<string>): boolean {
  try {
    return joinSlices(slices).every(packed =>
      isBlock(brotliDecompressSync(packed, { maxOutputLength: MOST_UNPACKED }), ids)
    )
  } catch {
    // A slice is missing or malformed, or the block cannot be decompressed.
    return false
  }
}

function isBlock(block: Buffer, ids: ReadonlySet<string>): boolean {
  let at = 0
  while (at < block.length) {
    const end = at + LENGTH_BYTES + ID_BYTES
    if (end > block.length || block.readInt32BE(at) !== ID_BYTES) return false
    if (!ids.has(block.toString('hex', at + LENGTH_BYTES, end))) return false
    at = end
    for (let i = 0; i < SPAN_TEXT_COLUMNS.length; i++) {
      if (at + LENGTH_BYTES > block.length) return false
      const length = block.readInt32BE(at)
      at += LENGTH_BYTES
      if (length < NULL_LENGTH || at + length > block.length) return false
      if (length > 0) {
        if (!isUtf8(block.subarray(at, at + length))) return false
        at += length
      }
    }
  }
  return true
}
