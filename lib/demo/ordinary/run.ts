/**
 * Builds the spans of one ordinary trace: each step starts where the previous step ended, and tokens and cost add up.
 */
import type { SpanInput } from '../../schema/input.ts'
import { clock, spanId } from '../parts.ts'
import { type DemoFailure, failureFields } from './failures.ts'
import type { DemoModel } from './models.ts'
import { between, type Random } from './random.ts'

export interface DemoMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
  readonly [more: string]: unknown
}

interface Step {
  readonly parent?: string
  readonly name: string
  readonly kind: NonNullable<SpanInput['kind']>
  readonly durationMs: number
  readonly failure?: DemoFailure | undefined
  /**
   * Starts the step this many ms after the start, in parallel with other steps, instead of where the previous step
   * ended.
   */
  readonly at?: number
  readonly more?: Partial<SpanInput>
}

export class DemoRun {
  readonly random: Random
  readonly #at: (ms: number) => string
  readonly #spans: SpanInput[] = []
  readonly #isCostReported: boolean
  /** Milliseconds from the trace's start to the next step. */
  now = 2
  readonly usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
  costUsd = 0

  constructor(start: number, random: Random, isCostReported: boolean) {
    this.random = random
    this.#at = clock(start)
    this.#isCostReported = isCostReported
  }

  get spans(): readonly SpanInput[] {
    return this.#spans
  }
  get spanCount(): number {
    return this.#spans.length
  }

  /** Opens a span with children. The returned function closes the span. */
  open(name: string, kind: NonNullable<SpanInput['kind']>, input: unknown, parent?: string) {
    const [id, place, began] = [spanId(), this.#spans.length, this.now]
    const opened = { id, ...(parent !== undefined && { parentSpanId: parent }), name, kind, input }
    this.#spans.push({ ...opened, status: 'ok', startedAt: this.#at(began), endedAt: this.#at(began) })
    this.now += 1
    const close = (output: unknown, failure?: DemoFailure) => {
      this.now += 1
      const outcome = failure === undefined ? { status: 'ok' as const } : failureFields(failure, this.#at(this.now))
      const times = { startedAt: this.#at(began), endedAt: this.#at(this.now) }
      this.#spans[place] = { ...opened, ...times, ...outcome, ...(output !== undefined && { output }) }
    }
    return { id, close }
  }

  step({ parent, name, kind, durationMs, failure, at = this.now, more }: Step): string {
    const id = spanId()
    const end = at + Math.max(1, failure?.durationMs ?? durationMs)
    this.#spans.push({
      id,
      ...(parent !== undefined && { parentSpanId: parent }),
      name,
      kind,
      status: 'ok',
      startedAt: this.#at(at),
      endedAt: this.#at(end),
      ...more,
      ...(failure !== undefined && failureFields(failure, this.#at(end)))
    })
    this.now = Math.max(this.now, end + 1)
    return id
  }

  tool(parent: string, name: string, input: unknown, output: unknown, failure?: DemoFailure, at?: number): string {
    const more = failure === undefined ? { input, output } : { input }
    const durationMs = between(8, 60, this.random) + 900 * this.random() ** 4
    return this.step({ parent, name, kind: 'tool', durationMs, failure, more, ...(at !== undefined && { at }) })
  }

  /** A model call. Tokens are estimated from the texts; most of a long conversation is read from the cache. */
  call(
    parent: string | undefined,
    model: DemoModel,
    messages: readonly DemoMessage[],
    output: unknown,
    { failure, parameters }: { readonly failure?: DemoFailure | undefined; readonly parameters?: object } = {}
  ): string {
    const inputTokens = 40 + Math.ceil(messages.reduce((sum, { content }) => sum + 6 + content.length / 3.8, 0))
    const outputTokens = 8 + Math.ceil(JSON.stringify(output ?? '').length / 3.6)
    const cached = messages.length > 6 ? Math.floor(inputTokens * 0.8) : 0
    const costUsd = (inputTokens * model.input + outputTokens * model.output) / 1e6
    const input = parameters === undefined ? messages : { model: model.model, messages, ...parameters }
    const durationMs = model.first + outputTokens * model.pace * between(0.7, 1.5, this.random)
    const request = { provider: model.provider, model: model.model, input }
    const shared = { name: `chat ${model.model}`, kind: 'llm' as const, durationMs }
    if (failure !== undefined) {
      return this.step({ ...shared, ...(parent !== undefined && { parent }), failure, more: request })
    }
    this.#count(inputTokens, outputTokens, costUsd)
    const attributes = {
      'gen_ai.request.temperature': 0.2,
      ...(cached > 0 && { 'gen_ai.usage.cache_read_input_tokens': cached })
    }
    const usage = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
    const more = { ...request, output, usage, attributes, ...(this.#isCostReported && { costUsd }) }
    return this.step({ ...shared, ...(parent !== undefined && { parent }), more })
  }

  #count(inputTokens: number, outputTokens: number, costUsd: number): void {
    this.usage.inputTokens += inputTokens
    this.usage.outputTokens += outputTokens
    this.usage.totalTokens += inputTokens + outputTokens
    this.costUsd += costUsd
  }
}
