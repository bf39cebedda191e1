/** Sends requests to a server over HTTP. */
import { setTimeout } from 'node:timers/promises'
import type { Settings } from '../../clients/typescript/options.ts'
import { parseAnswer } from '../../clients/typescript/send/answer.ts'
import { Transport } from '../../clients/typescript/send/transport.ts'
import type { Asker, HttpMethod } from './asker.ts'
import { explainRejection } from './failure.ts'

/** Number of attempts on a busy server, and the pause between them. */
const TRIES = 3
const PAUSE_MS = 1000

export class HttpAsker implements Asker {
  readonly #transport: Transport
  readonly #key: string

  /** `keyFrom` says where the key comes from. */
  constructor(settings: Pick<Settings, 'url' | 'key'>, keyFrom: string) {
    this.#transport = new Transport(settings)
    this.#key = keyFrom
  }

  async ask(method: HttpMethod, path: string, body?: object): Promise<string> {
    const sent = body === undefined ? undefined : JSON.stringify(body)
    for (let tries = 1; ; tries++) {
      const { status, text } = await this.#transport.send(method, path, sent)
      const answer = parseAnswer(text)
      if (status >= 200 && status < 300 && answer !== undefined) return text
      // A write that was rejected with one of these codes was not stored.
      if ((status === 429 || status === 503) && tries < TRIES) {
        await setTimeout(PAUSE_MS)
        continue
      }
      const { code, message = text } = (answer?.error ?? {}) as { code?: string; message?: string }
      throw explainRejection({ status, code, message }, this.#transport.address, this.#key)
    }
  }

  close(): Promise<void> {
    return this.#transport.close()
  }
}
