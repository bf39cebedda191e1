/** The worker that searches a trace's texts and compares the texts of two traces. */

import type { Compared, Comparing } from './compare/differ.ts'
import { readable } from './compare/readable-json.ts'
import { diffTexts } from './compare/text-diff.ts'
import type { Found, Looking, Question } from './trace/finder.ts'
import { countHits, makeSearchable, readPattern, type Searchable, type SearchedTexts } from './trace/search.ts'

/**
 * Maximum number of lines per message. Tens of thousands of lines at once would block the page for tens of
 * milliseconds.
 */
const TOGETHER = 2000

let searchable: Promise<Searchable[] | undefined> = Promise.resolve([])

interface Texts {
  readonly trace?: Pick<SearchedTexts, 'input' | 'output'>
  readonly spans: readonly SearchedTexts[]
}

async function fetchTexts(url: string, names: Readonly<Record<string, string>>): Promise<Searchable[] | undefined> {
  const response = await fetch(url, { credentials: 'same-origin' }).catch(() => undefined)
  if (!response?.ok) return undefined
  const { spans } = (await response.json()) as Texts
  return spans.map(span => makeSearchable(names[span.id] ?? '', span))
}

addEventListener('message', async ({ data }: MessageEvent<Question | Comparing>) => {
  if (data.kind === 'compare') {
    const [before, after] = [data.before, data.after].map(source => source && readable(source))
    const lines = diffTexts(before, after)
    for (let at = 0; at < lines.length; at += TOGETHER) {
      const isLast = at + TOGETHER >= lines.length
      postMessage({ turn: data.turn, lines: lines.slice(at, at + TOGETHER), isLast } satisfies Compared)
    }
    return
  }
  if (data.kind === 'texts') {
    searchable = fetchTexts(data.url, data.names)
    return
  }
  const { turn } = data
  const spans = await searchable
  if (spans === undefined) return postMessage({ turn, hits: [], failed: true, ms: 0 } satisfies Found)
  postMessage({ looking: turn } satisfies Looking)
  const pattern = readPattern(data.pattern)
  const start = performance.now()
  const hits =
    pattern === undefined
      ? []
      : spans.map(span => ({ id: span.id, count: countHits(span, pattern) })).filter(({ count }) => count > 0)
  postMessage({ turn, hits, ms: performance.now() - start } satisfies Found)
})
