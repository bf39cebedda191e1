/** Loads the outline of a trace, which has several pages if the trace is long. */
import type { Outline } from '../contract.ts'
import { at, read } from './api.ts'

/** Number of times that an outline is loaded again because the trace changed between two pages. */
const OUTLINE_TRIES = 3

/**
 * Loads all pages of an outline. Returns undefined if `version` is the current version. If the trace keeps changing
 * meanwhile, the pages are of different versions, and the outline has the oldest, so that it is requested again.
 */
export async function fetchOutline(
  trace: { readonly slug: string; readonly traceId: string },
  { version, signal }: { readonly version?: string; readonly signal?: AbortSignal } = {}
): Promise<Outline | undefined> {
  const page = (query: Readonly<Record<string, string>>) =>
    read(at('p/:slug/traces/:traceId/outline', trace, String(new URLSearchParams(query))), signal && { signal })
  for (let tries = 1; ; tries++) {
    const first = await page(version === undefined ? {} : { version })
    if ('unchanged' in first) return undefined
    const spans = [...first.spans]
    let isSame = true
    for (let { nextAfter } = first; nextAfter !== null; ) {
      const next = await page({ after: nextAfter })
      if ('unchanged' in next) break
      isSame &&= next.version === first.version
      spans.push(...next.spans)
      nextAfter = next.nextAfter
    }
    if (isSame || tries === OUTLINE_TRIES) return { ...first, spans }
  }
}
