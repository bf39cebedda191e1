/** The worker threads' task: prepares a group of bodies with the same function as the main thread. */
import type { BodyGroup } from '../lib/threads/body-threads.ts'
import { makeReady, type ReadyResult } from '../lib/threads/ready.ts'
import { tellHeap } from '../lib/threads/thread-heaps.ts'

export default function prepareGroup({ operations, environments, hurries, lengths, bytes }: BodyGroup): ReadyResult[] {
  let at = 0
  const results = operations.map((operation, i) => {
    const body = new Uint8Array(bytes, at, lengths[i])
    at += body.byteLength
    return makeReady({ operation, body, environment: environments[i] ?? null, hurries: hurries[i] === true })
  })
  tellHeap()
  return results
}
