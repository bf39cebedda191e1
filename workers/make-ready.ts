/** The task of the worker threads: a group of bodies, each made ready by the function that the main thread has too. Pure. */
import type { Group } from '../lib/threads/body-threads.ts'
import { makeReady, type ReadyResult } from '../lib/threads/ready.ts'

export default function prepareGroup({ operations, environments, hurries, lengths, bytes }: Group): ReadyResult[] {
  let at = 0
  return operations.map((operation, i) => {
    const body = new Uint8Array(bytes, at, lengths[i])
    at += body.byteLength
    return makeReady({ operation, body, environment: environments[i] ?? null, hurries: hurries[i] === true })
  })
}
