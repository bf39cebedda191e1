/** The worker threads' task: prepares a group of bodies with the same function as the main thread. */
import type { BodyGroup, GroupResult } from '../lib/threads/body-threads.ts'
import { makeReady, type ReadyResult, takeFoundModels } from '../lib/threads/ready.ts'
import { tellHeap } from '../lib/threads/thread-heaps.ts'

export default function prepareGroup(group: BodyGroup): GroupResult | Promise<GroupResult> {
  const { operations, environments, hurries, maxSpans, tagNames, prices, lengths, bytes } = group
  let at = 0
  const results = operations.map((operation, i) => {
    const body = new Uint8Array(bytes, at, lengths[i])
    at += body.byteLength
    const environment = environments[i] ?? null
    // Each property is listed: a spread makes the whole preparation slower (test/bench/RESULTS.md, "The fixed base").
    return makeReady({
      operation,
      body,
      environment,
      hurries: hurries[i] === true,
      maxSpans,
      tagNames,
      prices: prices?.[i]
    })
  })
  tellHeap()
  const all = { results, models: takeFoundModels() }
  const long = results.flatMap(longRows)
  return long.length === 0 ? all : moving(all, long)
}

/**
 * Rows of at least this many bytes are moved to the main thread. Copying them would take a fifth more memory for the
 * longest lines of an import.
 */
const LONG_BYTES = 1024 * 1024

function longRows(result: ReadyResult): ArrayBuffer[] {
  if (!('ready' in result) || !('rows' in result.ready)) return []
  const { buffer, byteLength } = result.ready.rows.bytes
  return byteLength >= LONG_BYTES && buffer instanceof ArrayBuffer ? [buffer] : []
}

async function moving(all: GroupResult, buffers: readonly ArrayBuffer[]): Promise<GroupResult> {
  // Most threads never move anything, so they do not load Piscina.
  const { move, transferableSymbol, valueSymbol } = await import('piscina')
  return move({ [transferableSymbol]: buffers, [valueSymbol]: all } as never) as unknown as GroupResult
}
