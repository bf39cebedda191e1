/** Compares texts in the worker, because comparing long texts would block the page. */

import { startWorker } from '../state/start-worker.ts'
import type { DiffLine } from './text-diff.ts'

/** The JSON strings of two values; undefined if a value is missing. */
export interface Comparing {
  readonly kind: 'compare'
  readonly turn: number
  readonly before: string | undefined
  readonly after: string | undefined
}
/** Part of a comparison's result, whose lines arrive in several messages. */
export interface Compared {
  readonly turn: number
  readonly lines: readonly DiffLine[]
  readonly isLast: boolean
}

let worker: Worker | undefined
let turn = 0

/** Compares two texts. An abandoned comparison still runs to completion, but its result is dropped. */
export function compareTexts(before: string | undefined, after: string | undefined): Promise<readonly DiffLine[]> {
  worker ??= startWorker()
  const own = worker
  const asked = ++turn
  return new Promise((resolve, reject) => {
    const lines: DiffLine[] = []
    const end = () => {
      own.removeEventListener('message', answer)
      own.removeEventListener('error', fail)
    }
    const answer = ({ data }: MessageEvent<Compared>) => {
      if (data.turn !== asked) return
      for (const line of data.lines) lines.push(line)
      if (!data.isLast) return
      end()
      resolve(lines)
    }
    const fail = () => {
      end()
      own.terminate()
      if (worker === own) worker = undefined
      reject(new Error('The texts could not be compared. If spoor was updated, load the page again.'))
    }
    own.addEventListener('message', answer)
    own.addEventListener('error', fail)
    own.postMessage({ kind: 'compare', turn: asked, before, after } satisfies Comparing)
  })
}
