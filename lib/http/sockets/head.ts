/**
 * Rejects ambiguous request heads. Node's parser accepts such heads, but a proxy may have interpreted them differently.
 */
import type { IncomingMessage } from 'node:http'

/** Maximum number of headers that Node reads by default. Node would silently drop further headers. */
const MAX_HEADERS = 2000
/** Headers whose repetitions Node joins or drops by its own rules. */
const SINGLE = ['host', 'authorization'] as const

export interface HeadFault {
  readonly status: 400 | 431
  readonly message: string
}

/**
 * Returns the reason to reject a request because of its head; undefined if the head is valid. The reason does not
 * depend on the request's target.
 */
export function findHeadFault(request: Pick<IncomingMessage, 'rawHeaders' | 'headers' | 'httpVersion'>) {
  const { rawHeaders, headers, httpVersion } = request
  if (rawHeaders.length > 2 * MAX_HEADERS) {
    return fault(431, `The request has ${rawHeaders.length / 2} headers, but at most ${MAX_HEADERS} are allowed.`)
  }
  for (const name of SINGLE) {
    if (isRepeated(name, rawHeaders))
      return fault(400, `The request has more than one ${nameOf[name]} header: send only one.`)
  }
  if (headers.host === undefined && httpVersion === '1.1') return fault(400, 'The request has no Host header.')
  const coding = headers['transfer-encoding']
  if (coding === undefined || coding.toLowerCase() === 'chunked') return undefined
  return fault(400, 'Transfer-Encoding must be chunked: use Content-Encoding if the body is compressed.')
}

const nameOf = { host: 'Host', authorization: 'Authorization' }

const fault = (status: HeadFault['status'], message: string): HeadFault => ({ status, message })

/** Returns whether a header is repeated. In `rawHeaders`, names and values alternate. */
function isRepeated(name: string, rawHeaders: readonly string[]): boolean {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i] as string
    // Comparing lengths first rules out most headers.
    if (sent.length === name.length && sent.toLowerCase() === name && ++count > 1) return true
  }
  return false
}
