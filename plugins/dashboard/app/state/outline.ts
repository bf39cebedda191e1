import type { Outline } from '../contract.ts'
import { type ApiPath, read } from './api.ts'

const PATH = 'p/:slug/traces/:traceId/outline'

/** Loads an outline. The address must not name a version, because the server may then report no change. */
export async function fetchOutline(address: ApiPath<typeof PATH>, signal: AbortSignal): Promise<Outline> {
  const answer = await read(address, { signal })
  if ('unchanged' in answer) throw new Error('The server sent no outline.')
  return answer
}
