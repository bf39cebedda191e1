/** Requests to the service, over connections that are kept. */
import { Pool } from 'undici'
import { messageOf } from '../record/values.ts'
import type { Answer } from './answer.ts'

export const CONNECTIONS = 8
/** The service answers a write within 5 s, or refuses it. */
const ANSWER_MS = 20_000
const CONNECT_MS = 5000

export interface Target {
  /** The address of the service, with its path if it has one. */
  readonly url: string
  readonly key: string
}

export class Transport {
  readonly #pool: Pool
  readonly #prefix: string
  /** For people, without the name and password that it may have. */
  readonly address: string
  /** Not to be seen where an application writes what it holds to its log. */
  readonly #authorization: string

  constructor({ url, key }: Target) {
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

  /** Never throws: what went wrong is the text of an answer with the status 0. */
  async send(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: string): Promise<Answer> {
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
