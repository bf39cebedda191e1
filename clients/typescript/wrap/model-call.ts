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
  /** Returns the span options for a request. */
  describe(request: CallBody): SpanOptions
  read(answer: CallBody): Answered
  /** Returns a collector that assembles the response from a stream's events. */
  collect(): Collector
}

export interface Answered extends Pick<SpanOptions, 'model' | 'usage' | 'attributes'> {
  readonly output: unknown
}

export interface Collector {
  add(event: CallBody): void
  answered(): Answered
}

const watched = new WeakSet<object>()

/** Records each call of `resource.create`. Does nothing if the resource is missing or already watched. */
export function watchCreate(resource: CallBody, spoor: Spoor, method: CallMethod): void {
  if (typeof resource?.create !== 'function' || watched.has(resource)) return
  watched.add(resource)
  const create = resource.create
  resource.create = function (this: unknown, request: CallBody, ...rest: unknown[]) {
    const call = new Call(spoor, method, request)
    let result: CallBody
    try {
      result = create.call(this, request, ...rest)
    } catch (error) {
      call.fail(error)
      throw error
    }
    return call.follow(result)
  }
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
      return result._thenUnwrap(look)
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

  #look(answer: CallBody): CallBody {
    if (typeof answer?.[Symbol.asyncIterator] === 'function') this.#pass(answer)
    else {
      const output = this.#note(guarded(this.#spoor, () => this.#method.read(answer)))
      succeed(this.#span, output)
      if (this.#trace !== undefined) succeed(this.#trace, output)
    }
    return answer
  }

  /** Records what is known about the response, and returns the output. */
  #note({ output, model, usage, attributes }: Answered = { output: undefined }): unknown {
    this.#span.setModel(model).setUsage(usage)
    if (attributes !== undefined) this.#span.setAttributes(attributes)
    this.#trace?.setOutput(output)
    return output
  }

  /** Records the events of a stream as the application reads them. */
  #pass(stream: CallBody): void {
    const collector = this.#method.collect()
    const reading = new Reading(this.#span)
    reading.isWatched(stream)
    // The trace waits for the streaming span.
    this.#trace?.setStatus('ok').end()
    const source = typeof stream.iterator === 'function' ? 'iterator' : Symbol.asyncIterator
    const iterate = stream[source]
    stream[source] = () => this.#passing(iterate.call(stream), collector, reading)
  }

  async *#passing(events: AsyncIterable<CallBody>, collector: Collector, reading: Reading) {
    const ended = () => this.#note(guarded(this.#spoor, () => collector.answered()))
    let isOpen = true
    try {
      for await (const event of events) {
        guarded(this.#spoor, () => collector.add(event))
        yield event
      }
      isOpen = false
      reading.end(ended())
    } catch (error) {
      isOpen = false
      reading.read(ended())
      reading.fail(error)
      throw error
    } finally {
      if (isOpen) {
        reading.read(ended())
        reading.stop('left')
      }
    }
  }
}

/** Reports an error instead of throwing it, because an unexpected response must not break the application. */
function guarded<T>(spoor: Spoor, read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    spoor.problem(`a call of a model could not be read: ${messageOf(error)}`)
    return undefined
  }
}

/** Returns a request's settings: all members except those in `without`. */
export function settingsOf(request: CallBody, without: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(request).filter(([name]) => !without.includes(name)))
}
