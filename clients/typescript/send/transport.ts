/** Sends requests to the service, each for a limited time. */

import type { Settings } from '../options.ts'
import newConnections from '../platform/node/request.ts'
import { unref } from '../record/bytes.ts'
import { messageOf } from '../record/values.ts'
import type { ServerAnswer } from './answer.ts'

export const CONNECTIONS = 8
/** Time for the whole response. The service stores or rejects a write within 5 s, but a read may be long. */
const WRITE_MS = 20_000
const READ_MS = 120_000

export interface SendOptions {
  /** Whether the process may end before the response arrives. */
  readonly isBackground?: boolean
  readonly timeoutMs?: number
}

export class Transport {
  readonly #connections = newConnections()
  readonly #inFlight = new Set<AbortController>()
  readonly #prefix: string
  readonly #origin: string
  /** Address shown in messages, without user name and password. */
  readonly address: string
  /** Private, so that an application that logs the client does not reveal the key. */
  readonly #authorization: string

  constructor({ url, key }: Pick<Settings, 'url' | 'key'>) {
    const { origin, pathname } = new URL(url)
    this.#origin = origin
    this.#prefix = pathname.replace(/\/+$/, '')
    this.address = origin + this.#prefix
    this.#authorization = `Bearer ${key}`
  }

  /** Sends a request. Never throws: a failure returns status 0 with the reason as `text`. */
  async send(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: string,
    { isBackground = false, timeoutMs = method === 'GET' ? READ_MS : WRITE_MS }: SendOptions = {}
  ): Promise<ServerAnswer> {
    const abort = new AbortController()
    const timer = setTimeout(() => abort.abort(new Error(`no response in ${timeoutMs / 1000} s`)), timeoutMs)
    if (isBackground) unref(timer)
    this.#inFlight.add(abort)
    const { signal } = abort
    const headers = {
      authorization: this.#authorization,
      ...(body !== undefined && { 'content-type': 'application/json' })
    }
    try {
      const url = new URL(this.#prefix + path, this.#origin)
      return await this.#connections.send({ url, method, headers, body, isBackground, signal })
    } catch (error) {
      return { status: 0, text: reasonOf(signal.aborted ? signal.reason : error) }
    } finally {
      clearTimeout(timer)
      this.#inFlight.delete(abort)
    }
  }

  /** Ends the requests that have no response, because the application no longer waits. */
  interrupt(): void {
    for (const abort of this.#inFlight) abort.abort(new Error('no response in time'))
  }

  async close(): Promise<void> {
    this.interrupt()
    this.#connections.close()
  }
}

/** `fetch` names the cause of a failure only in `cause`, and a failure to connect may have only a code. */
function reasonOf(error: unknown): string {
  const { cause = error, code } = error as { cause?: unknown; code?: string }
  return messageOf(cause) || code || 'no response'
}
