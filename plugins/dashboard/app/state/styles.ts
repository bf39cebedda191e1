/** The styles of pages that are loaded when they are first wanted: one file for all of them. */
declare const PAGES_STYLES: string

const address = new URL(PAGES_STYLES, import.meta.url).href
let loading: Promise<void> | undefined

/** Resolves when the styles count. Rejects if they could not be loaded; then the next call tries again. */
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
