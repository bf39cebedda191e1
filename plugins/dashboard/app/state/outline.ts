/** Loads the outline of a trace, which has several pages if the trace is long. */
import type { Outline } from '../contract.ts'
import { at, read } from './api.ts'

/** Number of times that an outline is loaded again because the trace changed between two pages. */
const OUTLINE_TRIES = 3
/** Number of spans on the first page, which is short so that a long trace is shown soon. */
const FIRST_SPANS = 500

interface Asked {
  readonly version?: string
  readonly signal?: AbortSignal
  /** Receives the spans so far, whenever a page has arrived and more follow. */
  readonly arrived?: (part: Outline) => void
}

/**
 * Loads all pages of an outline. Returns undefined if `version` is the current version. If the trace keeps changing
 * meanwhile, the pages have different versions. The outline then gets the oldest version, so that it is requested
 * again.
 */
export async function fetchOutline(
  trace: { readonly slug: string; readonly traceId: string },
  { version, signal, arrived }: Asked = {}
): Promise<Outline | undefined> {
  const page = (query: Readonly<Record<string, string>>) =>
    read(at('p/:slug/traces/:traceId/outline', trace, String(new URLSearchParams(query))), signal && { signal })
  for (let tries = 1; ; tries++) {
    const first = await page(version === undefined ? { limit: String(FIRST_SPANS) } : { version })
    if ('unchanged' in first) return undefined
    const spans = [...first.spans]
    let isSame = true
    for (let { nextAfter } = first; nextAfter !== null; ) {
      arrived?.({ ...first, spans: [...spans] })
      const next = await page({ after: nextAfter })
      if ('unchanged' in next) break
      isSame &&= next.version === first.version
      spans.push(...next.spans)
      nextAfter = next.nextAfter
    }
    if (isSame || tries === OUTLINE_TRIES) return { ...first, spans }
  }
}
