/** Implements `spoor price recompute`, which recomputes stored costs at current prices. */
import type { Sql } from 'postgres'
import { AdminError } from '../../admin-error.ts'
import { forgetAllUsage } from '../../store/analytics/usage/forgotten-sums.ts'
import type { ExportWindow } from '../../store/answers/export-page.ts'
import { amendAudit, writeAudit } from '../../store/audit.ts'
import { ownPricesOf, readPrices } from '../../store/projects/prices.ts'
import {
  type GatheredTrace,
  readGatheredTraces,
  readUnreportedCalls,
  type TraceRepricing,
  writeRepricings
} from '../../store/trace/repricing.ts'
import { readTraceStates } from '../../store/write/trace-state.ts'
import type { PriceSources } from '../../trace/prices/computed-cost.ts'
import { reprice } from '../../trace/prices/repricing.ts'
import { sumExactly } from '../../trace/span-usage.ts'
import { requireProject } from '../projects.ts'
import { type BatchOptions, retried } from '../retried.ts'

export interface RecomputeRequest extends ExportWindow {
  readonly project: string
  /** Whether to store the new costs. If false, the costs are computed but not stored. */
  readonly apply: boolean
}

export interface Recomputed {
  /** Number of OpenTelemetry traces checked. */
  readonly checked: number
  /** Numbers of traces and spans whose cost changes. */
  readonly traces: number
  readonly spans: number
  /** Total cost in US dollars, before and after the change, of the traces whose cost changes. */
  readonly before: number
  readonly after: number
}

/**
 * Maximum number of traces and of spans in a batch. A batch is one transaction, during which its traces can be read but
 * not changed.
 */
const BATCH_TRACES = 500
const BATCH_SPANS = 20_000
/** Maximum number of attempts to update traces that receive spans during an attempt. */
const ATTEMPTS = 5

interface Change extends TraceRepricing {
  readonly before: number | null
}

/**
 * Recomputes costs in batches. Finished batches stay committed, so repeating an interrupted request changes only the
 * remaining traces.
 */
export async function recomputeCosts(
  sql: Sql,
  { project, apply, ...selection }: RecomputeRequest,
  { onProgress, signal }: BatchOptions<Recomputed> = {}
): Promise<Recomputed> {
  const projectId = await requireProject(sql, project)
  const sources = { own: ownPricesOf(await readPrices(sql, projectId), projectId), mayLoad: true }
  let done: Recomputed = { checked: 0, traces: 0, spans: 0, before: 0, after: 0 }
  let auditId: number | undefined
  let afterSeq = 0
  for (;;) {
    const { traces, lastSeq } = await readGatheredTraces(sql, projectId, selection, { afterSeq, limit: BATCH_TRACES })
    if (lastSeq === null) {
      if (auditId !== undefined) await forgetAllUsage(sql, projectId)
      return done
    }
    for (const batch of inBatches(traces)) {
      if (signal?.aborted) {
        if (auditId !== undefined) await forgetAllUsage(sql, projectId)
        throw new AdminError(`interrupted: ${done.traces} traces changed so far; run the command again to continue`)
      }
      const before = done
      let left: readonly GatheredTrace[] = batch
      for (let attempt = 1; left.length > 0 && attempt <= ATTEMPTS; attempt++) {
        const changes = await computeChanges(sql, projectId, left, sources)
        if (!apply || changes.length === 0) {
          done = add(done, changes)
          break
        }
        if (auditId === undefined) {
          auditId = await writeAudit(sql, { by: null, action: 'price.recompute', projectId, detail: { ...selection } })
          // The usage sums are dropped now as well, in case the process is killed.
          await forgetAllUsage(sql, projectId)
        }
        const id = auditId
        const written = await retried(() =>
          writeRepricings(sql, projectId, changes, async changed => {
            const { traces, spans } = add(done, changed)
            await amendAudit(sql, id, { traces, spans })
          })
        )
        done = add(done, written)
        const seqs = new Set(written.map(({ seq }) => seq))
        left = left.filter(({ seq }) => changes.some(change => change.seq === seq && !seqs.has(seq)))
      }
      done = { ...done, checked: before.checked + batch.length }
      onProgress?.(done)
    }
    afterSeq = lastSeq
  }
}

/** Divides traces into batches of at most BATCH_SPANS spans. A larger trace has its own batch. */
function inBatches(traces: readonly GatheredTrace[]): GatheredTrace[][] {
  const batches: GatheredTrace[][] = []
  let spans = Number.POSITIVE_INFINITY
  for (const trace of traces) {
    spans += trace.spanCount
    if (spans > BATCH_SPANS) {
      batches.push([])
      spans = trace.spanCount
    }
    batches.at(-1)?.push(trace)
  }
  return batches
}

async function computeChanges(
  sql: Sql,
  projectId: number,
  traces: readonly GatheredTrace[],
  sources: PriceSources
): Promise<Change[]> {
  const looks = traces.map(({ traceId }) => ({ projectId, traceId, spanIds: [], detail: 'export' as const }))
  const states = await readTraceStates(sql, looks)
  // The calls are read after the states. A trace that changed between the two reads is skipped, because its version
  // then differs from the version in its state.
  const seqs = states.flatMap(state => (state === undefined ? [] : [state.seq]))
  const calls = await readUnreportedCalls(sql, projectId, seqs)
  return states.flatMap(state => {
    const unreported = state && calls.get(state.seq)
    if (state?.gathered === undefined || unreported === undefined) return []
    const repricing = reprice(state.gathered, unreported, sources)
    return repricing === undefined
      ? []
      : [{ ...repricing, seq: state.seq, version: state.version, before: state.gathered.costUsd }]
  })
}

const add = (done: Recomputed, changes: readonly Change[]): Recomputed => ({
  ...done,
  traces: done.traces + changes.length,
  spans: done.spans + changes.reduce((sum, { spans }) => sum + spans.length, 0),
  before: sumExactly([done.before, ...changes.map(({ before }) => before ?? 0)]) as number,
  after: sumExactly([done.after, ...changes.map(({ costUsd }) => costUsd ?? 0)]) as number
})
