/**
 * Repacks all complete traces immediately, for a command. The background round (lib/background/repacking.ts) waits
 * until a trace is calm, and pauses between traces. Here a trace need only be complete: if it changes meanwhile,
 * nothing is written. The walk passes a trace only if the background round would pass it too.
 */
import type { Sql } from 'postgres'
import { LOOK, tracePortions } from './portions.ts'
import { addWaits, type Marks, moveOn, readNext, readWaits, readWalks, type WalkedTrace } from './progress.ts'
import { findShrinkable, repackTrace, type Shrinkable, tryRepacking } from './repack-trace.ts'

/** Number of traces that are packed to estimate the gain of all. */
const TRIED = 40

export interface RepackEstimate {
  /** Number of traces whose texts may become smaller. */
  readonly traces: number
  /** Bytes of the texts of these traces, and the estimate for them after repacking. */
  readonly bytes: number
  readonly afterBytes: number
}

/** Estimates the gain from traces that are spread evenly over all whose texts may become smaller. */
export async function estimateRepacking(sql: Sql, signal?: AbortSignal): Promise<RepackEstimate> {
  let traces = 0
  let tried: { readonly projectId: number; readonly trace: Shrinkable; readonly place: number }[] = []
  let apart = 1
  for (const { projectId, to } of await readWalks(sql)) {
    for await (const portion of readUnpacked(sql, projectId, to)) {
      signal?.throwIfAborted()
      for (const trace of await findShrinkable(
        sql,
        projectId,
        portion.filter(({ isEnded }) => isEnded)
      )) {
        if (traces % apart === 0) tried.push({ projectId, trace, place: traces })
        traces++
        if (tried.length <= TRIED) continue
        apart *= 2
        const step = apart
        tried = tried.filter(({ place }) => place % step === 0)
      }
    }
  }
  let bytes = 0
  let afterBytes = 0
  for (const { projectId, trace } of tried) {
    signal?.throwIfAborted()
    const { before, after } = await tryRepacking(sql, projectId, trace)
    bytes += before
    afterBytes += after
  }
  const times = traces / Math.max(1, tried.length)
  return { traces, bytes: Math.round(bytes * times), afterBytes: Math.round(afterBytes * times) }
}

export interface RepackedAtOnce {
  readonly traces: number
  readonly bytes: number
  readonly afterBytes: number
  /** Traces that could not be unpacked, and stay as they are. */
  readonly failed: number
}

export interface AtOnceOptions {
  readonly marks: Marks
  /** Whether an error concerns only the trace, so that the others can be repacked. */
  readonly isTraceFault: (error: unknown) => boolean
  /** Repeats work that PostgreSQL rolled back because of another transaction. */
  readonly retried: <T>(work: () => Promise<T>) => Promise<T>
  readonly signal?: AbortSignal
  readonly onTrace?: (so: RepackedAtOnce) => void
}

/** Repacks all complete traces. The caller must hold the lock of repacking. */
export async function repackAtOnce(sql: Sql, options: AtOnceOptions): Promise<RepackedAtOnce> {
  const { marks, signal } = options
  let done: RepackedAtOnce = { traces: 0, bytes: 0, afterBytes: 0, failed: 0 }
  for (const { projectId, to } of await readWalks(sql)) {
    for await (const portion of readUnpacked(sql, projectId, to)) {
      const stay = new Set(portion.filter(({ isEnded, version }) => !isEnded || version >= marks.calm).map(seqOf))
      for (const trace of await findShrinkable(
        sql,
        projectId,
        portion.filter(({ isEnded }) => isEnded)
      )) {
        signal?.throwIfAborted()
        const result = await repackOne(sql, projectId, trace, options)
        if (result.outcome === 'changed') stay.add(trace.seq)
        done = addTo(done, result)
        options.onTrace?.(done)
      }
      // No further trace gets a seq below the settled mark.
      const settled = portion.findLast(({ seq }) => seq > to && seq < marks.settled)?.seq
      if (settled === undefined) continue
      await addWaits(
        sql,
        projectId,
        [...stay].filter(seq => seq <= settled)
      )
      await moveOn(sql, projectId, settled)
    }
  }
  return done
}

const seqOf = ({ seq }: WalkedTrace): number => seq

type Outcome = Awaited<ReturnType<typeof repackTrace>> | { readonly outcome: 'failed'; before: number; after: number }

async function repackOne(sql: Sql, projectId: number, trace: Shrinkable, options: AtOnceOptions): Promise<Outcome> {
  try {
    return await options.retried(() => repackTrace(sql, projectId, trace))
  } catch (error) {
    if (!options.isTraceFault(error)) throw error
    return { outcome: 'failed', before: 0, after: 0 }
  }
}

function addTo(done: RepackedAtOnce, { outcome, before, after }: Outcome): RepackedAtOnce {
  if (outcome === 'failed') return { ...done, failed: done.failed + 1 }
  if (outcome !== 'repacked') return done
  const { traces, bytes, afterBytes } = done
  return { ...done, traces: traces + 1, bytes: bytes + before, afterBytes: afterBytes + after }
}

/** Yields portions of the traces that wait, and then of those that the walk has not passed, in the order of seq. */
async function* readUnpacked(sql: Sql, projectId: number, to: number): AsyncGenerator<WalkedTrace[]> {
  for (let after = 0; ; ) {
    const next = await readWaits(sql, projectId, after, to, LOOK.traces)
    yield* tracePortions(next)
    const last = next.at(-1)?.seq
    if (last === undefined) break
    after = last
  }
  for (let after = to; ; ) {
    const next = await readNext(sql, projectId, after, Number.MAX_SAFE_INTEGER, LOOK.traces)
    yield* tracePortions(next)
    const last = next.at(-1)?.seq
    if (last === undefined) return
    after = last
  }
}
