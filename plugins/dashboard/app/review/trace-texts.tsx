/** A trace as a reviewer reads it: its facts, its input and its output. */

import { type Body, loadBody, pathOfBody } from '../content/bodies.ts'
import { TRACE_ROW } from '../content/span-tree.ts'
import { ValueSection } from '../content/value-section.tsx'
import type { Outline } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { useLoad } from '../state/load.ts'
import { preferences } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { StatusIcon } from '../ui/controls.tsx'
import { Moment } from '../ui/facts.tsx'
import { formatCost, formatDuration } from '../ui/format.ts'
import { Problem, Waiting } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'

interface Loaded {
  readonly outline: Outline
  readonly input: Body
  readonly output: Body
}

/** The size in bytes of a value that was not recorded: `null` in JSON. */
const EMPTY_BYTES = 4

/** Loads the trace's texts or, if it has none, those of its first and last steps with texts. */
async function loadTexts(slug: string, traceId: string, signal: AbortSignal): Promise<Loaded> {
  const outline = await read(at('p/:slug/traces/:traceId/outline', { slug, traceId }), { signal })
  if ('unchanged' in outline) throw new Error('The server returned no trace.')
  const { trace, spans, version } = outline
  const load = (key: string) => loadBody(pathOfBody(slug, traceId, key), key === TRACE_ROW ? version : 0, signal)
  const inputOf = spans.find(({ inputBytes }) => inputBytes > EMPTY_BYTES)?.id
  const outputOf = spans.findLast(({ outputBytes }) => outputBytes > EMPTY_BYTES)?.id
  const [input, output] = await Promise.all([
    load(trace.inputBytes > EMPTY_BYTES ? TRACE_ROW : (inputOf ?? TRACE_ROW)),
    load(trace.outputBytes > EMPTY_BYTES ? TRACE_ROW : (outputOf ?? TRACE_ROW))
  ])
  return { outline, input, output }
}

export function ReviewedTrace({ slug, traceId }: { slug: string; traceId: string }) {
  const { texts, zone } = useStore(preferences)
  const loaded = useLoad(traceId, signal => loadTexts(slug, traceId, signal))
  if (loaded.error !== undefined) return <Problem error={loaded.error} again={loaded.again} />
  if (loaded.value === undefined) return <Waiting what="the trace" />
  const { outline, input, output } = loaded.value
  const { trace, spans } = outline
  const failed = spans.findLast(({ status }) => status === 'error')
  return (
    <article class="reviewed" aria-label="Trace">
      <header>
        <h2>{asLine(trace.name, 200)}</h2>
        <StatusIcon status={trace.status} />
        <span class="soft">
          <Moment iso={trace.startedAt} zone={zone} />
        </span>
        {trace.durationMs !== null && <span class="soft">{formatDuration(trace.durationMs)}</span>}
        {trace.costUsd !== null && <span class="soft">{formatCost(trace.costUsd)}</span>}
        {trace.status === 'error' && failed !== undefined && <span>Failed at {asLine(failed.name, 80)}</span>}
        <a href={pathOf({ page: 'trace', slug, traceId })} target="_blank" rel="noopener">
          Open trace
        </a>
      </header>
      {trace.status === 'running' && <p class="soft">This trace is still running, so its output may change.</p>}
      <ValueSection title="Input" body={input} part="input" rendered={texts === 'rendered'} />
      <ValueSection title="Output" body={output} part="output" rendered={texts === 'rendered'} />
    </article>
  )
}
