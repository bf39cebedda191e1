/** Decides what the page of a trace shows at first, and which parts of its address are invalid. */
import { firstSpan, isCulprit, type Node, TRACE_ROW, visibleRows } from '../content/span-tree.ts'
import type { Outline, OutlineSpan } from '../contract.ts'

export const TABS = ['messages', 'json', 'attributes', 'metadata', 'events', 'scores'] as const
export type Tab = (typeof TABS)[number]
export const SPANS_VIEWS = ['tree', 'log', 'turns'] as const
export type SpansView = (typeof SPANS_VIEWS)[number]

/**
 * Returns the trace's only root, whose row also stands for the trace; undefined if there are more roots. Spans whose
 * parent is missing do not count as roots beside a root that has no parent.
 */
export function soleRoot(roots: readonly Node[]): OutlineSpan | undefined {
  const spans = roots.flatMap(({ span }) => span ?? [])
  return spans.length === 1 ? spans[0] : undefined
}

const hasContent = (sized: { readonly inputBytes: number; readonly outputBytes: number }): boolean =>
  sized.inputBytes > 0 || sized.outputBytes > 0

/**
 * Returns the row to select at first: a failed trace's first failed span without a failed child, otherwise the trace
 * if it has an input or output, otherwise the first span that has one.
 */
export function openingRow(roots: readonly Node[], trace: Outline['trace']): string {
  const isFailed = trace.status === 'error'
  const whole = soleRoot(roots)?.id ?? TRACE_ROW
  const failed = isFailed ? firstSpan(roots, true) : undefined
  const spans = visibleRows(roots, new Set()).flatMap(({ node }) => node.span ?? [])
  if (failed !== undefined && spans.some(({ id, status }) => id === failed && status === 'error')) return failed
  if (hasContent(trace)) return whole
  return (spans.find(hasContent) ?? spans[0])?.id ?? TRACE_ROW
}

const PARAMETERS = ['span', 'tab', 'view', 'q']

/** Returns a sentence for each part of the page's address that names something unknown. */
export function faultsOf(parameters: URLSearchParams, hasSpan: (key: string) => boolean): string[] {
  const span = parameters.get('span')
  const tab = parameters.get('tab')
  const view = parameters.get('view')
  const among = (names: readonly string[]) => names.join(', ')
  return [
    ...(span !== null && !hasSpan(span.toLowerCase()) ? [`This trace has no span ${span}.`] : []),
    ...(tab !== null && !TABS.some(each => each === tab) ? [`There is no tab “${tab}”, only ${among(TABS)}.`] : []),
    ...(view !== null && !SPANS_VIEWS.some(each => each === view)
      ? [`There is no view “${view}”, only ${among(SPANS_VIEWS)}.`]
      : []),
    ...[...new Set(parameters.keys())].flatMap(name =>
      PARAMETERS.includes(name) ? [] : [`This page has no parameter “${name}”.`]
    )
  ]
}

/** Number of spans above which a trace is collapsed at first. */
const MOST_OPEN = 300

/**
 * Returns the rows that are collapsed at first. A long trace shows its topmost spans and, if these are a single root,
 * the root's children.
 */
export function foldedAtFirst(roots: readonly Node[], spanCount: number): string[] {
  if (spanCount <= MOST_OPEN) return []
  const root = soleRoot(roots)
  return visibleRows(roots, new Set()).flatMap(({ key, node }) =>
    key !== root?.id && node.children.length > 0 ? [key] : []
  )
}

/** Returns the next or previous failed span without a failed child, wrapping around; undefined if none failed. */
export function nextFailure(rows: readonly { readonly key: string; readonly node: Node }[], from: string, by: 1 | -1) {
  const failed = rows.flatMap(({ key, node }, at) => (isCulprit(node) ? [{ key, at }] : []))
  const here = rows.findIndex(({ key }) => key === from)
  const next = by === 1 ? failed.find(({ at }) => at > here) : failed.findLast(({ at }) => at < here)
  return (next ?? (by === 1 ? failed[0] : failed.at(-1)))?.key
}

/** Time without a new span after which a running trace's sender counts as silent. */
const SILENT_MS = 10 * 60_000

/** Returns how long a running trace has had no new span, in ms; undefined if it is not silent. */
export function silenceOf({ trace, spans }: Pick<Outline, 'trace' | 'spans'>, now: number): number | undefined {
  if (trace.status !== 'running') return undefined
  const last = spans.reduce((latest, { endedAt }) => Math.max(latest, Date.parse(endedAt)), Date.parse(trace.startedAt))
  return now - last >= SILENT_MS ? now - last : undefined
}
