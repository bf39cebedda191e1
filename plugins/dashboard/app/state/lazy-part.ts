/** Loads parts of the page, together with their style sheet, on first use. */

import { useEffect, useState } from 'preact/hooks'
import { errorMessageOf } from './api.ts'
import { useOpening } from './keys.ts'
import { loadSession } from './session.ts'
import { tell } from './toasts.ts'

/**
 * Loads a part. On failure, waits for the server and retries once. If the server has been updated, the file may no
 * longer exist.
 */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch {
    await loadSession()
    return load().catch(() => {
      throw new Error('Part of the page could not be loaded. If spoor was updated, reload the page.')
    })
  }
}

export interface Part<T> {
  readonly part: T | undefined
  readonly error: unknown
  again(): void
}

const loaded = new Map<() => Promise<unknown>, unknown>()

/** Loads a part for a component. Callers must always pass the same `load` function for the same part. */
export function usePart<T>(load: () => Promise<T>, wanted = true): Part<T> {
  const [, setTurn] = useState(0)
  const [failed, setFailed] = useState<{ readonly load: unknown; readonly error: unknown } | undefined>()
  const part = loaded.get(load) as T | undefined
  const again = () => {
    setFailed(undefined)
    loadPart(load).then(
      part => {
        loaded.set(load, part)
        setTurn(turn => turn + 1)
      },
      error => setFailed({ load, error })
    )
  }
  useEffect(() => {
    // The component may have rendered before another one loaded the part, so `loaded` must not decide.
    if (wanted && part === undefined) again()
  }, [load, wanted])
  return { part, error: failed?.load === load ? failed.error : undefined, again }
}

/**
 * Loads a dialog. Until it is shown, keys that are typed into it are no shortcuts. If loading fails, shows a message
 * and calls `cancel`, which must reset `wanted`, so that the next click tries again.
 */
export function useDialogPart<T>(load: () => Promise<T>, wanted: boolean, cancel: () => void): T | undefined {
  const { part, error } = usePart(load, wanted)
  useOpening(wanted && part === undefined && error === undefined)
  useEffect(() => {
    if (error === undefined || !wanted) return
    tell(errorMessageOf(error), true)
    cancel()
  }, [error])
  return wanted ? part : undefined
}

/** URL of the file with the styles of all pages that load on first use. */
declare const PAGES_STYLES: string

const address = new URL(PAGES_STYLES, import.meta.url).href
let loading: Promise<void> | undefined

export async function styled<T>(loading: Promise<T>): Promise<T> {
  const [part] = await Promise.all([loading, loadPagesStyles()])
  return part
}

/** Resolves when the styles apply. Rejects if loading fails; the next call then retries. */
function loadPagesStyles(): Promise<void> {
  loading ??= new Promise<void>((resolve, reject) => {
    const link = document.createElement('link')
    link.rel = 'stylesheet'
    link.href = address
    link.onload = () => resolve()
    link.onerror = () => {
      loading = undefined
      link.remove()
      reject(new Error('The style sheet could not be loaded.'))
    }
    document.head.append(link)
  })
  return loading
}
