/**
 * Loads the previews of spans that rows show. Rows that appear together are requested together, after a short delay.
 */
import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { Answer } from '../contract.ts'
import { at, read } from '../state/api.ts'

export type Preview = Answer<'GET', 'p/:slug/traces/:traceId/previews'>['previews'][number]

/** The delay avoids requests for rows that are only scrolled past. */
const DELAY_MS = 80
/** Maximum number of spans in a request. */
const TOGETHER = 50

type Arrived = (preview: Preview) => void

/** The previews of one trace. A stored span never changes, so each preview is requested once. */
export class Previews {
  readonly #trace: { readonly slug: string; readonly traceId: string }
  readonly #length: 'short' | 'long'
  readonly #known = new Map<string, Preview>()
  readonly #wanted = new Map<string, Set<Arrived>>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(trace: { readonly slug: string; readonly traceId: string }, length: 'short' | 'long') {
    this.#trace = trace
    this.#length = length
  }

  get(id: string): Preview | undefined {
    return this.#known.get(id)
  }

  /** Calls `arrived` once the preview is known. Returns a function that withdraws the request. */
  want(id: string, arrived: Arrived): () => void {
    const waiting = this.#wanted.get(id) ?? new Set()
    waiting.add(arrived)
    this.#wanted.set(id, waiting)
    this.#timer ??= setTimeout(() => void this.#load(), DELAY_MS)
    return () => {
      waiting.delete(arrived)
      if (waiting.size === 0) this.#wanted.delete(id)
    }
  }

  async #load(): Promise<void> {
    try {
      while (this.#wanted.size > 0) {
        const ids = [...this.#wanted.keys()].slice(0, TOGETHER)
        for (const preview of await this.read(ids)) {
          for (const arrived of this.#wanted.get(preview.id) ?? []) arrived(preview)
        }
        for (const id of ids) this.#wanted.delete(id)
      }
    } catch {
      // Rows without a preview still show names and numbers.
      this.#wanted.clear()
    } finally {
      this.#timer = undefined
    }
  }

  /** Loads the previews of these spans, except the known ones. */
  async read(ids: readonly string[]): Promise<readonly Preview[]> {
    const missing = ids.filter(id => !this.#known.has(id))
    for (let from = 0; from < missing.length; from += TOGETHER) {
      const query = new URLSearchParams({
        spans: missing.slice(from, from + TOGETHER).join(),
        ...(this.#length === 'long' && { length: 'long' })
      })
      const { previews } = await read(at('p/:slug/traces/:traceId/previews', this.#trace, query))
      for (const preview of previews) this.#known.set(preview.id, preview)
    }
    return ids.flatMap(id => this.#known.get(id) ?? [])
  }
}

export const PreviewSource = createContext<Previews | undefined>(undefined)

/** Returns a span's preview once it has arrived. */
export function usePreview(id: string | undefined): Preview | undefined {
  const source = useContext(PreviewSource)
  const [arrived, setArrived] = useState<Preview | undefined>()
  const known = id === undefined ? undefined : (source?.get(id) ?? (arrived?.id === id ? arrived : undefined))
  useEffect(() => {
    if (source === undefined || id === undefined || source.get(id) !== undefined) return
    return source.want(id, setArrived)
  }, [source, id])
  return known
}
