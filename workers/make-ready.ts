/** The task of a worker thread: makes a group of bodies ready, by the same function that the main thread uses. */
import { give } from '../lib/limits/large-bytes.ts'
import { freeLargeGarbage, freeYoungGarbage } from '../lib/limits/large-garbage.ts'
import { LARGE_BODY_BYTES } from '../lib/schema/input.ts'
import type { Group } from '../lib/threads/body-threads.ts'
import { makeReady, type ReadyResult } from '../lib/threads/ready.ts'
import { tellHeap } from '../lib/threads/thread-heaps.ts'

/** After a group of more bytes what is young is collected: some milliseconds, beside tenths of a second. */
const FREED_BYTES = 1024 * 1024

export default function prepareGroup({ operations, environments, hurries, lengths, bytes }: Group) {
  const isLarge = bytes.byteLength > LARGE_BODY_BYTES
  const { byteLength } = bytes
  let at = 0
  const results = operations.map((operation, i) => {
    const body = new Uint8Array(bytes, at, lengths[i])
    at += body.byteLength
    if (isLarge) give(body)
    return makeReady({ operation, body, environment: environments[i] ?? null, hurries: hurries[i] === true })
  })
  tellHeap()
  if (byteLength > FREED_BYTES) setImmediate(isLarge ? freeLargeGarbage : freeYoungGarbage)
  return isLarge ? withPortionsMoved(results) : results
}

/** The portions of a large export are moved to the main thread, and not copied: together they are as large as it is. */
async function withPortionsMoved(results: ReadyResult[]) {
  const portions = results.flatMap(result =>
    'ready' in result && result.ready.operation === 'export' ? result.ready.portions : []
  )
  const buffers = portions.map(({ buffer }) => buffer)
  // Few threads ever need it, and it takes each thread time to load.
  const { move, transferableSymbol, valueSymbol } = await import('piscina')
  return move({ [transferableSymbol]: buffers, [valueSymbol]: results } as never)
}
