/**
 * Calls of a provider's client, recorded as steps. A method is replaced on the very object that the application has, so
 * that helpers of the client which call it are recorded as well. What the method returns keeps its type: the client's own
 * promise, whose answer is looked at when it is asked for, and the client's own stream, whose events pass by here.
 */
import { Reading } from '../record/reading.ts'
import { fail, succeed } from '../record/run.ts'
import type { Span, SpanOptions } from '../record/step.ts'
import type { Trace } from '../record/trace.ts'
import { messageOf } from '../record/values.ts'
import type { Spoor } from '../spoor.ts'

// biome-ignore lint/suspicious/noExplicitAny: requests and answers of several versions of a client.
export type Body = any

export interface Method {
  readonly name: string
  /** Describes the call by its request. */
  describe(request: Body): SpanOptions
  /** Reads the output, the model and the usage from a response. */
  read(answer: Body): Answered
  /** Puts the answer together from the events of a stream. */
  collect(): Collector
}

export interface Answered extends Pick<SpanOptions, 'model' | 'usage' | 'attributes'> {
  readonly output: unknown
}

export interface Collector {
  add(event: Body): void
  answered(): Answered
}

const watched = new WeakSet<object>()

/** Records each call of `resource.create`. A resource that is missing, or watched already, is left as it is. */
export function watchCreate(resource: Body, spoor: Spoor, method: Method): void {
  if (typeof resource?.create !== 'function' || watched.has(resource)) return
  watched.add(resource)
  const create = resource.create
  resource.create = function (this: unknown, request: Body, ...rest: unknown[]) {
    const call = new Call(spoor, method, request)
    let result: Body
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
  readonly #method: Method
  /** The trace that was made for this call, where there was none. */
  readonly #trace: Trace | undefined
  readonly #span: Span

  constructor(spoor: Spoor, method: Method, request: Body) {
    this.#spoor = spoor
    this.#method = method
    const options = guarded(spoor, () => method.describe(request)) ?? {}
    const current = spoor.current()
    if (current === undefined) this.#trace = spoor.start(method.name, { input: options.input })
    this.#span = (current ?? this.#trace!).startSpan(method.name, options)
  }

  /** Gives what the application gets instead of the result, which behaves the same. */
  follow(result: Body): unknown {
    const look = (answer: Body) => this.#look(answer)
    if (typeof result?._thenUnwrap === 'function') {
      // The body is read when the application asks for it: it may want the raw response.
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

  #look(answer: Body): Body {
    const isStream = typeof answer?.[Symbol.asyncIterator] === 'function'
    if (isStream) this.#pass(answer)
    else this.#conclude(this.#answered(() => this.#method.read(answer)))
    return answer
  }

  #conclude(answered: Answered | undefined): void {
    this.#note(answered)
    succeed(this.#span, answered?.output)
    if (this.#trace !== undefined) succeed(this.#trace, answered?.output)
  }

  #note({ output, model, usage, attributes }: Answered = { output: undefined }): void {
    this.#span.setModel(model).setUsage(usage)
    if (attributes !== undefined) this.#span.setAttributes(attributes)
    this.#trace?.setOutput(output)
  }

  /** Looks at the events of a stream as the application reads them. */
  #pass(stream: Body): void {
    const collector = this.#method.collect()
    const reading = new Reading(this.#span)
    reading.isWatched(stream)
    // It waits for the span, which is streaming.
    this.#trace?.setStatus('ok').end()
    const ended = () => {
      const answered = this.#answered(() => collector.answered())
      this.#note(answered)
      return answered?.output
    }
    const source = typeof stream.iterator === 'function' ? 'iterator' : Symbol.asyncIterator
    const iterate = stream[source]
    const spoor = this.#spoor
    stream[source] = () =>
      passing(iterate.call(stream), event => guarded(spoor, () => collector.add(event)), reading, ended)
  }

  #answered(read: () => Answered): Answered | undefined {
    return guarded(this.#spoor, read)
  }
}

async function* passing(
  events: AsyncIterable<Body>,
  add: (event: Body) => void,
  reading: Reading,
  ended: () => unknown
): AsyncGenerator<Body, void, undefined> {
  let isOpen = true
  try {
    for await (const event of events) {
      add(event)
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

/** An answer that is not as the client's version promises must not hurt the application. */
function guarded<T>(spoor: Spoor, read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    spoor.problem(`a call of a model could not be read: ${messageOf(error)}`)
    return undefined
  }
}

/** The members of a request that are neither its input nor its model. */
export function settingsOf(request: Body, without: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(request).filter(([name]) => !without.includes(name)))
}
