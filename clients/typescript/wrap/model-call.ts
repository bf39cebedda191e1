/**
 * Records calls of a provider's client as steps. Methods are replaced on the application's own object, so that calls
 * through the client's helpers are recorded as well. A result keeps its type: a promise or a stream of the provider's
 * client. A promise's response is recorded when the application requests the body. A stream's events are recorded as
 * the application reads them.
 */
import { fail, Reading, succeed } from '../record/reading.ts'
import type { Span, SpanOptions } from '../record/step.ts'
import type { Trace } from '../record/trace.ts'
import { messageOf } from '../record/values.ts'
import type { Spoor } from '../spoor.ts'

// biome-ignore lint/suspicious/noExplicitAny: requests and responses differ between client versions.
export type CallBody = any

export interface CallMethod {
  readonly name: string
  /** Whether a call is recorded; all calls by default. */
  applies?(request: CallBody): boolean
  /** Returns the span options for a request. */
  describe(request: CallBody): SpanOptions
  read(answer: CallBody): Answered
  /** Returns a collector that assembles the response from a stream's events. */
  collect(): Collector
  /** Returns the stream in a response that is not a stream itself, and replaces it; undefined if there is none. */
  readonly stream?: { of(answer: CallBody): CallBody; replace(answer: CallBody, stream: CallBody): CallBody }
}

export interface Answered extends Pick<SpanOptions, 'model' | 'usage' | 'costUsd' | 'attributes'> {
  readonly output?: unknown
  /** The error that the provider reported in a response with status 200. */
  readonly failure?: Error
}

export interface Collector {
  add(event: CallBody): void
  answered(): Answered
}

/** Each recorded object, with the client that records it. */
const watched = new WeakMap<object, Spoor>()

/** Throws if a call lacks the Spoor client, because each model call would fail otherwise. */
export function requireSpoor(call: string, spoor: Spoor | undefined): void {
  if (typeof spoor?.start !== 'function') throw new TypeError(`the Spoor client is missing: ${call}`)
}

/** Methods of a client, each with the object that has it. */
export type ClientCalls = readonly (readonly [resource: CallBody, name: string, method: CallMethod])[]

/**
 * Records the client's calls that exist in its version, and returns the client. If another Spoor client records the
 * client, it keeps it, because a call belongs to one project.
 */
export function watchClient<C extends object>(wrap: string, client: C, spoor: Spoor, calls: ClientCalls): C {
  requireSpoor(`${wrap}(client, spoor)`, spoor)
  const existing = calls.filter(([resource, name]) => typeof resource?.[name] === 'function')
  if (existing.length === 0)
    spoor.problem(`${wrap} records nothing, because its argument is not a client that it knows`)
  const recorders = existing.map(([resource, name]) => watched.get(resource[name]) ?? spoor)
  if (recorders.some(recorder => recorder !== spoor)) {
    spoor.problem(`${wrap} has no effect, because another Spoor client records this client: wrap an object only once`)
    return client
  }
  for (const [resource, name, method] of existing) watchCalls(resource, name, spoor, method)
  return client
}

/** Records each call of `resource[name]`, unless it is already recorded. */
export function watchCalls(resource: CallBody, name: string, spoor: Spoor, method: CallMethod): void {
  const call = resource[name]
  if (watched.has(call)) return
  const recorded = function (this: unknown, request: CallBody, ...rest: unknown[]) {
    if (method.applies?.(request) === false) return call.call(this, request, ...rest)
    const recording = new Call(spoor, method, request)
    let result: CallBody
    try {
      result = call.call(this, request, ...rest)
    } catch (error) {
      recording.fail(error)
      throw error
    }
    return recording.follow(result)
  }
  watched.set(recorded, spoor)
  resource[name] = recorded
}

/** Wraps the clients that a method such as `withOptions` derives from this client. */
export function watchDerived(client: CallBody, name: string, wrap: (derived: CallBody) => void): void {
  const derive = client?.[name]
  if (typeof derive !== 'function' || derivers.has(derive)) return
  client[name] = function (this: unknown, ...given: unknown[]) {
    const derived = derive.apply(this, given)
    wrap(derived)
    return derived
  }
  derivers.add(client[name])
}
const derivers = new WeakSet<object>()

/** Returns an error as a provider describes it. The stack would show only this client. */
export function failureOf(described: CallBody): Error {
  const { message, code, type } = Object(described)
  const error = new Error(message ?? (typeof described === 'string' ? described : JSON.stringify(described)))
  error.name = String(type ?? code ?? 'Error')
  delete error.stack
  return error
}

class Call {
  readonly #spoor: Spoor
  readonly #method: CallMethod
  /** Trace created for this call if no step was current. */
  readonly #trace: Trace | undefined
  readonly #span: Span

  constructor(spoor: Spoor, method: CallMethod, request: CallBody) {
    this.#spoor = spoor
    this.#method = method
    const options = guarded(spoor, () => method.describe(request)) ?? {}
    const current = spoor.current()
    if (current === undefined) this.#trace = spoor.start(method.name, { input: options.input })
    this.#span = (current ?? this.#trace!).startSpan(method.name, options)
  }

  /** Returns a replacement that behaves like the result. */
  follow(result: CallBody): unknown {
    const look = (answer: CallBody) => this.#look(answer)
    if (typeof result?._thenUnwrap === 'function') {
      // The body is read only on request, because the application may want the raw response.
      result.responsePromise?.catch((error: unknown) => this.fail(error))
      return this.#followRaw(result._thenUnwrap(look))
    }
    if (typeof result?.then !== 'function') return look(result)
    return result.then(look, (error: unknown) => {
      this.fail(error)
      throw error
    })
  }

  fail(error: unknown): void {
    fail(this.#span, error)
    if (this.#trace !== undefined) fail(this.#trace, error)
  }

  /** Tracks whether the application uses only the raw response. `withResponse` also uses the body. */
  #followRaw(followed: CallBody): CallBody {
    const { asResponse, withResponse } = followed
    let isBodyRead = false
    if (typeof asResponse !== 'function') return followed
    followed.asResponse = async () => {
      const response = await asResponse.call(followed)
      return isBodyRead ? response : this.#raw(response)
    }
    followed.withResponse = () => {
      isBodyRead = true
      return withResponse.call(followed)
    }
    return followed
  }

  /** The application reads a raw response's body itself, so the step says that the output is not recorded. */
  #raw(response: CallBody): CallBody {
    if (!this.#span.isEnded) {
      this.#span.addEvent('raw response, not recorded', { status: response?.status })
      succeed(this.#span, undefined)
      if (this.#trace !== undefined) succeed(this.#trace, undefined)
    }
    return response
  }

  #look(answer: CallBody): CallBody {
    const { stream } = this.#method
    // A generator is replaced, because applications may call its `next` directly.
    if (typeof answer?.next === 'function') return this.#passOn(answer)
    if (typeof answer?.[Symbol.asyncIterator] === 'function') this.#pass(answer)
    else if (stream?.of(answer) !== undefined) return stream.replace(answer, this.#passOn(stream.of(answer)))
    else this.#end(guarded(this.#spoor, () => this.#method.read(answer)) ?? {})
    return answer
  }

  #end(answered: Answered): void {
    const output = this.#note(answered)
    if (answered.failure !== undefined) {
      if (output !== undefined) this.#span.setOutput(output)
      this.fail(answered.failure)
      return
    }
    succeed(this.#span, output)
    if (this.#trace !== undefined) succeed(this.#trace, output)
  }

  /** Records what is known about the response, and returns the output. */
  #note({ output, model, usage, costUsd, attributes }: Answered): unknown {
    this.#span.setModel(model).setUsage(usage).setCost(costUsd)
    if (attributes !== undefined) this.#span.setAttributes(attributes)
    if (output !== undefined) this.#trace?.setOutput(output)
    return output
  }

  /** Records the events of a stream as the application reads them. */
  #pass(stream: CallBody): void {
    const collector = this.#method.collect()
    const reading = this.#reading(stream, collector)
    const isAborted = () => stream.controller?.signal?.aborted === true
    let isRead = false
    // OpenAI's later clients change events, or throw, in an iterator of their own around `iterator`. `tee` reads
    // `iterator` alone. The outer of the two that the application uses is recorded.
    for (const source of ['iterator', Symbol.asyncIterator]) {
      const iterate = stream[source]
      if (typeof iterate !== 'function') continue
      stream[source] = () => {
        const events = iterate.call(stream)
        if (isRead) return events
        isRead = true
        return this.#passing(events, collector, reading, isAborted)
      }
    }
  }

  /** Returns an iterable with the events of another, for responses that contain a stream. */
  #passOn(events: AsyncIterable<CallBody>): AsyncIterable<CallBody> {
    const collector = this.#method.collect()
    return this.#passing(events, collector, this.#reading(events, collector), () => false)
  }

  #reading(stream: object, collector: Collector): Reading {
    const reading = new Reading(this.#span, () => this.#collected(collector))
    reading.isWatched(stream)
    // The trace waits for the streaming span.
    this.#trace?.end()
    return reading
  }

  /** Records the part of the response that has been read, and returns it as output. */
  #collected(collector: Collector): unknown {
    return this.#note(guarded(this.#spoor, () => collector.answered()) ?? {})
  }

  async *#passing(
    events: AsyncIterable<CallBody>,
    collector: Collector,
    reading: Reading,
    isAborted: () => boolean
  ): AsyncGenerator<CallBody> {
    let isOpen = true
    try {
      for await (const event of events) {
        guarded(this.#spoor, () => collector.add(event))
        yield event
      }
      isOpen = false
      const answered = guarded(this.#spoor, () => collector.answered()) ?? {}
      const output = this.#note(answered)
      if (answered.failure !== undefined) {
        this.#trace?.setStatus('error')
        reading.fail(answered.failure, output)
      } else if (isAborted()) reading.stop('aborted', output)
      else {
        this.#trace?.setStatus('ok')
        reading.end(output)
      }
    } catch (error) {
      isOpen = false
      this.#trace?.setStatus('error')
      reading.fail(error, this.#collected(collector))
      throw error
    } finally {
      if (isOpen) reading.stop('left')
    }
  }
}

/** Reports an error instead of throwing it, because an unexpected response must not break the application. */
function guarded<T>(spoor: Spoor, read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    spoor.problem(`a model call could not be read: ${messageOf(error)}`)
    return undefined
  }
}

/** Returns a request's settings: all members except those in `without`. */
export function settingsOf(request: CallBody, without: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(request).filter(([name]) => !without.includes(name)))
}
