/** Sends requests to the service over persistent connections. */
import { Pool } from 'undici'
import type { Settings } from '../options.ts'
import { messageOf } from '../record/values.ts'
import type { ServerAnswer } from './answer.ts'

export const CONNECTIONS = 8
/** Response timeout. The service stores or rejects a write within 5 s. */
const ANSWER_MS = 20_000
const CONNECT_MS = 5000

export class Transport {
  readonly #pool: Pool
  readonly #prefix: string
  /** Address shown in messages, without user name and password. */
  readonly address: string
  /** Private, so that an application that logs the client does not reveal the key. */
  readonly #authorization: string

  constructor({ url, key }: Pick<Settings, 'url' | 'key'>) {
    const { origin, pathname } = new URL(url)
    this.#pool = new Pool(origin, {
      connections: CONNECTIONS,
      connect: { timeout: CONNECT_MS },
      headersTimeout: ANSWER_MS,
      bodyTimeout: ANSWER_MS
    })
    this.#prefix = pathname.replace(/\/+$/, '')
    this.address = origin + this.#prefix
    this.#authorization = `Bearer ${key}`
  }

  /** Sends a request. Never throws: a failure returns status 0 with the reason as `text`. */
  async send(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: string): Promise<ServerAnswer> {
    try {
      const response = await this.#pool.request({
        method,
        path: this.#prefix + path,
        headers: {
          authorization: this.#authorization,
          ...(body !== undefined && { 'content-type': 'application/json' })
        },
        body: body ?? null
      })
      const retryAfter = response.headers['retry-after']
      return { status: response.statusCode, text: await response.body.text(), retryAfter: retryAfter?.toString() }
    } catch (error) {
      const { code } = error as { code?: string }
      return { status: 0, text: messageOf(error) || code || 'no answer' }
    }
  }

  async close(): Promise<void> {
    await this.#pool.close()
  }
}
