/** The worker threads' task: prepares a group of bodies with the same function as the main thread. */
import type { BodyGroup } from '../lib/threads/body-threads.ts'
import { makeReady, type ReadyResult } from '../lib/threads/ready.ts'
import { tellHeap } from '../lib/threads/thread-heaps.ts'

export default function prepareGroup(group: BodyGroup): ReadyResult[] {
  const { operations, environments, hurries, maxSpans, lengths, bytes } = group
  let at = 0
  const results = operations.map((operation, i) => {
    const body = new Uint8Array(bytes, at, lengths[i])
    at += body.byteLength
    const task = { operation, body, environment: environments[i] ?? null, hurries: hurries[i] === true }
    return makeReady(maxSpans === undefined ? task : { ...task, maxSpans })
  })
  tellHeap()
  return results
}
