/** The worker threads' task: prepares a group of bodies with the same function as the main thread. */
import type { BodyGroup, GroupResult } from '../lib/threads/body-threads.ts'
import { makeReady, takeFoundModels } from '../lib/threads/ready.ts'
import { tellHeap } from '../lib/threads/thread-heaps.ts'

export default function prepareGroup(group: BodyGroup): GroupResult {
  const { operations, environments, hurries, maxSpans, prices, lengths, bytes } = group
  let at = 0
  const results = operations.map((operation, i) => {
    const body = new Uint8Array(bytes, at, lengths[i])
    at += body.byteLength
    const task = { operation, body, environment: environments[i] ?? null, hurries: hurries[i] === true }
    return makeReady({ ...task, prices: prices?.[i], ...(maxSpans !== undefined && { maxSpans }) })
  })
  tellHeap()
  return { results, models: takeFoundModels() }
}
