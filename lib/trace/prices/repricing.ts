/** Recomputes a stored trace's costs at current prices. Reported costs stay unchanged. */
import { type CallDetails, callDetailsText } from '../call-details.ts'
import { SpanTree } from '../span-tree.ts'
import { sumSpending } from '../span-usage.ts'
import type { GatheredState } from '../states/gathered.ts'
import { readLeftOut } from '../states/left-out.ts'
import { type PricedCall, type PriceSources, priceCall } from './computed-cost.ts'

/** A stored call that was sent without a cost. */
export interface StoredCall extends PricedCall {
  readonly id: string
  /** The computed cost; null if no cost was computed. */
  readonly costUsd: number | null
  readonly details: CallDetails | null
}

/** The new cost of a span, with its call details as JSON. */
export interface SpanRepricing {
  readonly id: string
  readonly costUsd: number | null
  readonly callDetails: string | null
}

export interface Repricing {
  /** The spans whose cost changes. */
  readonly spans: readonly SpanRepricing[]
  /** The trace's new cost. */
  readonly costUsd: number | null
}

/**
 * Returns the new costs; undefined if no span's cost changes. A computed cost is removed if its model no longer has a
 * price. Left-out spans keep their costs, because their cache token counts were not stored.
 */
export function reprice(
  trace: Pick<GatheredState, 'spans' | 'ranks'>,
  calls: readonly StoredCall[],
  sources: PriceSources
): Repricing | undefined {
  const changed = new Map<string, SpanRepricing>()
  for (const call of calls) {
    const { id, details } = call
    const { computedCost: _, ...others } = details ?? {}
    const priced = priceCall(call, details, sources)
    const costUsd = priced?.costUsd ?? null
    if (costUsd === call.costUsd) continue
    const computedCost = priced?.computedCost
    changed.set(id, { id, costUsd, callDetails: callDetailsText({ ...others, computedCost }) })
  }
  if (changed.size === 0) return undefined
  const spans = [...trace.spans].map(span => {
    const repricing = changed.get(span.id)
    return repricing === undefined
      ? span
      : { ...span, costUsd: repricing.costUsd, costIsComputed: repricing.costUsd !== null }
  })
  const placed = new SpanTree(spans)
  const { costUsd } = sumSpending(new SpanTree(readLeftOut(trace.ranks, placed), placed))
  return { spans: [...changed.values()], costUsd }
}
