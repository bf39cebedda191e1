/** Creates spans as exports deliver them, and a store that handles one trace as the service does. */
import { createHash } from 'node:crypto'
import { shortHash } from '../../../../lib/trace/prepared.ts'
import { SpanTree } from '../../../../lib/trace/span-tree.ts'
import { decideExport, type ExportState } from '../../../../lib/trace/states/decide-export.ts'
import {
  type GatheredSpan,
  type GatheredState,
  type Growth,
  gather,
  gatheredUsage,
  INNER,
  ROOT,
  type SpanHints
} from '../../../../lib/trace/states/gathered.ts'
import { type NewText, textHeads } from '../../../../lib/trace/states/gathered-texts.ts'
import { endOf } from '../../../../lib/trace/states/idle.ts'

/** The limit is small enough for tests to exceed it. */
export const MAX_SPANS = 200
export const MAX_BYTES = 100_000_000
export const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const BASE = Date.parse('2026-11-21T12:00:00Z')
export const at = (second: number) => new Date(BASE + second * 1000).toISOString()
export const idOf = (number: number) => number.toString(16).padStart(16, '0')
export const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
const none = { inputTokens: null, outputTokens: null, totalTokens: null }

export type Given = Partial<Omit<GatheredSpan, 'hints' | 'id'>> & { name?: string; hints?: Partial<SpanHints> }

/** Returns a span with the given start and end in seconds. The hash distinguishes different spans with the same id. */
export function span(id: number, start: number, end: number, { hints, ...over }: Given = {}): GatheredSpan {
  const name = over.name ?? `span ${id}`
  const given = {
    ...none,
    parentId: hints?.level === ROOT ? null : idOf(999),
    kind: 'custom',
    status: 'unset',
    provider: null,
    model: null,
    input: null,
    output: null,
    costUsd: null,
    bytes: 100,
    ...over
  }
  const all: SpanHints = {
    level: INNER,
    startMicros: BASE * 1000 + start * 1_000_000,
    endMicros: BASE * 1000 + end * 1_000_000,
    endsInFuture: false,
    name: undefined,
    ownName: name,
    input: undefined,
    output: undefined,
    sessionId: undefined,
    userId: undefined,
    resourceSessionId: undefined,
    resourceUserId: undefined,
    responseId: undefined,
    tags: [],
    metadata: {},
    ...hints
  }
  return {
    id: idOf(id),
    startedAt: at(start),
    endedAt: at(end),
    hash: hashOf(`${id} ${JSON.stringify(given)}`),
    ...given,
    hints: all,
    textHeads: textHeads(given, all.level)
  }
}

/** A store for one trace that handles exports as the service does. */
export class Store {
  readonly #maxBytes: number
  state: ExportState | undefined
  input: string | null = null
  output: string | null = null
  isRun = false
  readonly spans = new Map<string, GatheredSpan>()

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes
  }

  export(spans: readonly GatheredSpan[], environment: string | null = null) {
    const asked = new Set(spans.map(({ id }) => id))
    const held = [...this.spans.values()].filter(({ id }) => asked.has(id))
    const looked = this.state && { ...this.state, spanHashes: new Map(held.map(span => [span.id, shortHash(span)])) }
    const decision = decideExport(looked, {
      operation: 'export',
      traceId: TRACE,
      spans,
      environment,
      maxSpans: MAX_SPANS,
      maxBytes: this.#maxBytes
    })
    const { growth, added, removed, cut } = decision
    for (const each of removed) this.spans.delete(each.id)
    for (const each of added) this.spans.set(each.id, each)
    if (growth !== undefined) this.#grow(growth, environment, cut)
    return decision
  }

  /** Completes the trace with the stored spans, as the service does when nothing has arrived for a while. */
  complete(): void {
    this.#grow(gather(TRACE, this.gathered, [], [], endOf([...this.spans.values()])), null)
  }

  #grow(growth: Growth, environment: string | null, cut: ReadonlySet<GatheredSpan> = new Set()): void {
    const { input, output, changed, durationMs, addedBytes, isRun, ...fields } = growth
    this.isRun ||= isRun
    if (input !== undefined) this.input = this.#textOf(input, 'input', cut)
    if (output !== undefined) this.output = this.#textOf(output, 'output', cut)
    const gathered: GatheredState = {
      ...fields,
      inputBytes: Buffer.byteLength(this.input ?? 'null'),
      outputBytes: Buffer.byteLength(this.output ?? 'null'),
      patched: this.state?.gathered?.patched ?? false,
      spans: new SpanTree([...this.spans.values()].map(gatheredUsage))
    }
    this.state = {
      gathered,
      environment: this.state?.environment ?? environment ?? 'unassigned',
      spanHashes: new Map()
    }
  }

  /** Returns a text, which must equal that of the span that shares it. */
  #textOf(text: NewText | null, side: 'input' | 'output', cut: ReadonlySet<GatheredSpan>): string | null {
    if (text === null) return null
    if (Buffer.byteLength(text.text) !== text.bytes) throw new Error(`the ${side} does not have ${text.bytes} bytes`)
    if (text.spanId === null) return text.text
    const span = this.spans.get(text.spanId)
    if (span?.[side] !== text.text || cut.has(span))
      throw new Error(`span ${text.spanId} does not have the trace's ${side}`)
    return text.text
  }

  get gathered(): GatheredState {
    if (this.state?.gathered === undefined) throw new Error('there is no trace')
    return this.state.gathered
  }

  get trace() {
    const { ranks, spans, inputBytes, outputBytes, ...trace } = this.gathered
    return {
      ...trace,
      metadata: JSON.parse(trace.metadata ?? '{}'),
      input: this.input,
      output: this.output,
      isRun: this.isRun
    }
  }
}

export const exported = (...exports: GatheredSpan[][]) => {
  const store = new Store()
  for (const spans of exports) store.export(spans)
  return store
}
