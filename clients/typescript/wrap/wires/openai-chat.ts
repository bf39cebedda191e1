/**
 * Reads responses from OpenAI's chat API, whole and streamed, from OpenAI and from the many servers that imitate it.
 * test/fixtures/wires/openai-chat.json lists what they really send.
 */
import { type Answered, type CallBody, type Collector, failureOf } from '../model-call.ts'
import { isRecord, mergeInto, recordsIn } from './merge.ts'
import { defined, newerUsage, readOpenAIUsage } from './usage.ts'

export function readChat(body: CallBody): Answered {
  const { model, id, service_tier, citations, error } = body
  const choices = recordsIn(body.choices)
  const messages = choices.map(({ message, text }) => message ?? (text === undefined ? undefined : { text }))
  const reasons = choices.map(({ finish_reason }) => finish_reason).filter(Boolean)
  const { usage, costUsd, attributes } = readOpenAIUsage(body.usage ?? body.x_groq?.usage)
  return {
    output: messages.length < 2 ? messages[0] : messages,
    model,
    usage,
    costUsd,
    attributes: defined({
      'response.id': id,
      finish_reason: reasons.length > 0 ? reasons.join(', ') : undefined,
      service_tier: service_tier ?? undefined,
      citations,
      ...attributes
    }),
    ...(error && { failure: failureOf(error) })
  }
}

export function collectChat(): Collector {
  const whole: CallBody = {}
  const choices = new Map<number, ChoiceParts>()
  return {
    add(event) {
      for (const name of ['id', 'model', 'service_tier', 'citations', 'error']) {
        if (event[name]) whole[name] = event[name]
      }
      whole.usage = newerUsage(whole.usage, event.usage ?? event.x_groq?.usage)
      for (const choice of recordsIn(event.choices)) {
        const index = Number(choice.index) || 0
        const parts = choices.get(index) ?? new ChoiceParts()
        choices.set(index, parts.add(choice))
      }
    },
    answered: () => {
      const ordered = [...choices].sort(([a], [b]) => a - b)
      return readChat({ ...whole, choices: ordered.map(([, parts]) => parts.whole()) })
    }
  }
}

interface PartialCall {
  readonly index: unknown
  readonly call: CallBody
}

class ChoiceParts {
  readonly #message: CallBody = { role: 'assistant' }
  readonly #calls: PartialCall[] = []
  #finishReason: unknown

  add({ delta, finish_reason, text }: CallBody): this {
    if (finish_reason) this.#finishReason = finish_reason
    mergeInto(this.#message, delta, ['tool_calls', 'function_call'])
    if (typeof text === 'string') mergeInto(this.#message, { content: text })
    if (isRecord(delta?.function_call)) {
      this.#message.function_call ??= {}
      addCalled(this.#message.function_call, delta.function_call)
    }
    for (const piece of recordsIn(delta?.tool_calls)) this.#addCall(piece)
    return this
  }

  whole(): CallBody {
    const calls = [...this.#calls].sort((a, b) => orderOf(a) - orderOf(b)).map(({ call }) => call)
    const message = { ...this.#message, ...(calls.length > 0 && { tool_calls: calls }) }
    return { message, finish_reason: this.#finishReason }
  }

  #addCall(piece: CallBody): void {
    const found = this.#callOf(piece)
    const call = found?.call ?? {}
    if (found === undefined) this.#calls.push({ index: piece.index, call })
    const { id, type, index, ...rest } = piece
    if (id) call.id = id
    call.type = type ?? call.type ?? 'function'
    for (const [name, value] of Object.entries(rest)) {
      if (name !== 'function' && name !== 'custom') mergeInto(call, { [name]: value })
    }
    const kind = call.type === 'custom' ? 'custom' : 'function'
    call[kind] ??= kind === 'custom' ? { name: '', input: '' } : { name: '', arguments: '' }
    addCalled(call[kind], piece[kind])
  }

  /** Returns the call that a piece continues; undefined if the piece begins a call. */
  #callOf({ index, id, function: called }: CallBody): PartialCall | undefined {
    const byId = id ? this.#calls.find(({ call }) => call.id === id) : undefined
    if (byId !== undefined) return byId
    const isNumbered = typeof index === 'number'
    const last = isNumbered ? this.#calls.findLast(each => each.index === index) : this.#calls.at(-1)
    if (last === undefined) return undefined
    // Some servers give every call the same index, or none: then a new id begins a call.
    if (id && last.call.id !== undefined) return undefined
    return !id && called?.name && isWhole(last.call.function?.arguments) ? undefined : last
  }
}

/** Calls without an index stay in the order in which they came. */
const orderOf = ({ index }: PartialCall): number => (typeof index === 'number' ? index : 0)

function isWhole(json: unknown): boolean {
  if (typeof json !== 'string') return false
  try {
    JSON.parse(json)
    return true
  } catch {
    return false
  }
}

/** Adds a piece to a function's name and arguments, or to a custom tool's name and input. */
function addCalled(called: CallBody, piece: CallBody): void {
  for (const [name, value] of Object.entries(piece ?? {})) {
    if (value === null) continue
    // Some servers repeat the name in each piece, and some send arguments as an object instead of JSON.
    if (name === 'name') called.name = called.name === value ? value : (called.name ?? '') + value
    else if (typeof value === 'string') called[name] = (called[name] ?? '') + value
    else called[name] = JSON.stringify(value)
  }
}
