/** Loads a trace's outline. */
import type { Outline } from '../contract.ts'
import { type ApiPath, read } from './api.ts'

const PATH = 'p/:slug/traces/:traceId/outline'

/**
 * Loads the outline from an address without a version. With a version, the server may respond that nothing has changed.
 */
export async function fetchOutline(address: ApiPath<typeof PATH>, signal: AbortSignal): Promise<Outline> {
  const answer = await read(address, { signal })
  if ('unchanged' in answer) throw new Error('The server sent no outline.')
  return answer
}
