/** The outline of a trace, as the server has it. */
import type { Outline } from '../contract.ts'
import { type ApiPath, read } from './api.ts'

const PATH = 'p/:slug/traces/:traceId/outline'

/** The outline at an address that names no version; with one the server may answer that nothing has changed. */
export async function fetchOutline(address: ApiPath<typeof PATH>, signal: AbortSignal): Promise<Outline> {
  const answer = await read(address, { signal })
  if ('unchanged' in answer) throw new Error('The server sent no outline.')
  return answer
}
