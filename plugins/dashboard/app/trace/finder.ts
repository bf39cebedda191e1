/** Searches a trace in a separate worker, which is terminated if an expression takes too long. */

import type { Outline } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { startWorker } from '../state/start-worker.ts'
import type { Hits } from './search.ts'

/** Time limit for searching all texts, excluding the time to load them. */
const LIMIT_MS = 2000

export type Question =
  /**
   * The URL of the texts, and the span names. The worker fetches the texts because loading long texts could block the
   * page.
   */
  | { readonly kind: 'texts'; readonly url: string; readonly names: Readonly<Record<string, string>> }
  | { readonly kind: 'find'; readonly turn: number; readonly pattern: string }
export interface Found {
  readonly turn: number
  readonly hits: readonly Hits[]
  /** Set if the texts could not be fetched. */
  readonly failed?: true
  /** Duration of the search, excluding the fetch. */
  readonly ms: number
}
/** Sent by the worker when the texts are loaded and the search starts. */
export interface Looking {
  readonly looking: number
}

export class Finder {
  #worker: Worker | undefined
  #turn = 0
  #texts: Question | undefined
  /** The trace, and the version of its outline, to which the texts belong. */
  #version: string | undefined

  /**
   * Searches the texts of a trace, and calls `loading` if they must be loaded first. Returns undefined if the search is
   * aborted.
   */
  async search(
    slug: string,
    { trace, spans, version }: Outline,
    pattern: string,
    signal: AbortSignal,
    loading: () => void
  ): Promise<Found | undefined> {
    const place = { slug, traceId: trace.id }
    const take = () => {
      const url = new URL(`api/${at('p/:slug/traces/:traceId/texts', place)}`, document.baseURI).href
      this.#texts = { kind: 'texts', url, names: Object.fromEntries(spans.map(({ id, name }) => [id, name])) }
      this.#worker?.postMessage(this.#texts)
      this.#version = `${trace.id} ${version}`
    }
    if (this.#version !== `${trace.id} ${version}`) {
      loading()
      take()
    }
    let answer = await this.#find(pattern)
    if (answer.failed && !signal.aborted) {
      // If the server is unreachable, this read waits until the server is reachable again. If the session has ended,
      // the read prompts the user to sign in.
      const outline = at('p/:slug/traces/:traceId/outline', place, `version=${encodeURIComponent(version)}`)
      await read(outline, { signal })
      take()
      answer = await this.#find(pattern)
    }
    if (signal.aborted) return undefined
    if (answer.failed) throw new Error('The trace’s texts could not be loaded.')
    return answer
  }

  #find(pattern: string): Promise<Found> {
    const turn = ++this.#turn
    this.#worker ??= this.#start()
    const worker = this.#worker
    return new Promise((resolve, reject) => {
      let timer: ReturnType<typeof setTimeout> | undefined
      const answer = ({ data }: MessageEvent<Found | Looking>) => {
        if ('looking' in data) {
          if (data.looking === turn) timer = setTimeout(tooLong, LIMIT_MS)
          return
        }
        if (data.turn !== turn) return
        clearTimeout(timer)
        worker.removeEventListener('message', answer)
        resolve(data)
      }
      const tooLong = () => {
        worker.removeEventListener('message', answer)
        this.end()
        reject(new Error('This regular expression takes too long.'))
      }
      worker.addEventListener('message', answer)
      worker.postMessage({ kind: 'find', turn, pattern } satisfies Question)
    })
  }

  #start(): Worker {
    const worker = startWorker()
    if (this.#texts !== undefined) worker.postMessage(this.#texts)
    return worker
  }

  end(): void {
    this.#worker?.terminate()
    this.#worker = undefined
  }
}
