/** Sends OTLP exports to a server, and retries an export that the server cannot accept at the moment. */
import { setTimeout } from 'node:timers/promises'
import type { Settings } from '../../../clients/typescript/options.ts'
import { judge, parseAnswer, waitMs } from '../../../clients/typescript/send/answer.ts'
import { Transport } from '../../../clients/typescript/send/transport.ts'
import { AdminError } from '../../../lib/admin-error.ts'
import { Refusal } from '../../../lib/errors.ts'
import type { SentExport } from '../../../lib/moving/import-transcripts.ts'

export interface SenderOptions {
  /** Signal that ends the wait for the server. */
  readonly signal: AbortSignal
  /** Whether to wait for the server without a time limit. */
  readonly patient: boolean
  readonly onWait: (reason: string) => void
}

const PATH = '/api/v1/otlp/v1/traces'
/** Maximum number of attempts to send an export. All attempts together take about two minutes. */
const MAX_TRIES = 10

export class OtlpSender {
  readonly #transport: Transport
  readonly #options: SenderOptions

  constructor(target: Pick<Settings, 'url' | 'key'>, options: SenderOptions) {
    this.#transport = new Transport(target)
    this.#options = options
  }

  /**
   * Sends an export. Throws a Refusal if the server will never accept the export, or an AdminError if no export can be
   * sent.
   */
  async send(request: Uint8Array): Promise<SentExport> {
    const { signal, patient, onWait } = this.#options
    const body = Buffer.from(request.buffer, request.byteOffset, request.byteLength).toString('utf8')
    for (let tries = 0; ; tries++) {
      const answer = await this.#transport.send('POST', PATH, body)
      const verdict = judge('otlp', answer, tries)
      if (verdict.do === 'done') return { rejectedSpans: 0, message: '' }
      const { partialSuccess } = parseAnswer(answer.text) ?? {}
      const { rejectedSpans, errorMessage } = (partialSuccess ?? {}) as {
        rejectedSpans?: unknown
        errorMessage?: unknown
      }
      if (verdict.do === 'lost' && rejectedSpans !== undefined) {
        return { rejectedSpans: Number(rejectedSpans), message: String(errorMessage ?? '') }
      }
      if (verdict.do === 'stop' || answer.status === 403) {
        throw new AdminError(`${this.#transport.address} rejects the key: ${verdict.reason}`)
      }
      if (verdict.do !== 'again') throw new Refusal('invalid_request', verdict.reason)
      if (signal.aborted || (!patient && tries + 1 >= MAX_TRIES)) {
        throw new AdminError(`${this.#transport.address} rejects the export: ${verdict.reason}`)
      }
      if (tries === 0) onWait(`${this.#transport.address} cannot accept the export now: ${verdict.reason}`)
      await setTimeout(waitMs(tries + 1, verdict.afterMs), undefined, { signal }).catch(() => {})
    }
  }

  close(): Promise<void> {
    return this.#transport.close()
  }
}
