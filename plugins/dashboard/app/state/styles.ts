/** Loads the styles of pages that load on first use, from one shared file. */
declare const PAGES_STYLES: string

const address = new URL(PAGES_STYLES, import.meta.url).href
let loading: Promise<void> | undefined

export async function styled<T>(loading: Promise<T>): Promise<T> {
  const [part] = await Promise.all([loading, loadPagesStyles()])
  return part
}

/** Resolves when the styles apply. Rejects if loading fails; the next call then retries. */
export function loadPagesStyles(): Promise<void> {
  loading ??= new Promise<void>((resolve, reject) => {
    const link = document.createElement('link')
    link.rel = 'stylesheet'
    link.href = address
    link.onload = () => resolve()
    link.onerror = () => {
      loading = undefined
      link.remove()
      reject(new Error('The styles of the page could not be loaded.'))
    }
    document.head.append(link)
  })
  return loading
}
