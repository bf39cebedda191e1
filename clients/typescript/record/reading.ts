/**
 * Calls a function as a step. The function's result becomes the step's output, and an exception fails the step. A
 * result that the application reads later (an async iterable, a generator or a web stream) is recorded as it is read.
 * The step then ends when the reader reaches the end, stops or fails, or when an unread result is garbage-collected.
 */
import type { Context } from '../platform/types.ts'
import { Span, type Step } from './step.ts'

/** Limits on the recorded output. Items beyond the limits are counted but not recorded. */
const MOST_BYTES = 600_000
const MOST_ITEMS = 10_000

export function runStep<R>(context: Context, step: Step, act: () => R): R {
  const failed = (error: unknown): never => {
    fail(step, error)
    throw error
  }
  let result: R
  try {
    result = context.run(step, act)
  } catch (error) {
    return failed(error)
  }
  if (!isThenable(result)) return settle(context, step, result)
  // A lazy promise starts its work when `then` is called, so `then` must be called inside the step.
  const settled = context.run(step, () => Promise.resolve(result))
  return settled.then(value => settle(context, step, value), failed) as R
}

function settle<V>(context: Context, step: Step, value: V): V {
  if (isReadLater(value)) return watchReading(context, step, value)
  succeed(step, value)
  return value
}

export function succeed(step: Step, output: unknown): void {
  if (step.isEnded) return
  if (!step.hasOutput && step.keepsResult && output !== undefined) step.setOutput(output)
  if (!step.hasStatus) step.setStatus('ok')
  step.end()
}

export function fail(step: Step, error: unknown): void {
  if (step.isEnded) return
  step.recordError(error)
  step.end()
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as PromiseLike<unknown>).then === 'function'
}

/** Whether a step can be the current step. A span that outlives its trace cannot contain another span. */
export function isUsable(step: Step | undefined): step is Step {
  return step !== undefined && !(step instanceof Span ? step.isOver : step.isEnded)
}

/** Ends a step when its result is garbage-collected. A `Reading` must never reference the result. */
const forgotten =
  typeof FinalizationRegistry === 'function'
    ? new FinalizationRegistry<Reading>(reading => reading.stop('collected'))
    : undefined

function isReadLater(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  if (Symbol.asyncIterator in value || value instanceof ReadableStream) return true
  return (value as Record<symbol, unknown>)[Symbol.toStringTag] === 'Generator'
}

/** Wraps a result to record the items that the application reads from it. */
function watchReading<V>(context: Context, step: Step, value: V & object): V {
  const reading = new Reading(step)
  const watched =
    value instanceof ReadableStream
      ? watchStream(value, reading, context, step)
      : watchIterable(value, reading, context, step)
  reading.isWatched(watched)
  return watched as V
}

/** Collects the items that are read, and ends the step with these items as the output. */
export class Reading {
  readonly #step: Step
  readonly #items: unknown[] = []
  readonly #rest: () => unknown
  #bytes = 0
  #leftOut = 0

  /** `rest` returns the output of a result that is not read to its end, in place of the collected items. */
  constructor(step: Step, rest: () => unknown = () => undefined) {
    this.#step = step
    this.#rest = rest
    if (step instanceof Span) step.isStreaming = true
  }

  isWatched(result: object): void {
    forgotten?.register(result, this, this)
  }

  read(item: unknown): void {
    this.#bytes += typeof item === 'string' ? item.length : ITEM_BYTES
    if (this.#bytes > MOST_BYTES || this.#items.length >= MOST_ITEMS) this.#leftOut++
    else this.#items.push(item)
  }

  /** Called when the reader reaches the end. `output`, if given, replaces the collected items. */
  end(output?: unknown): void {
    this.#close(output, () => this.#step.hasStatus || this.#step.setStatus('ok'))
  }

  fail(error: unknown, output?: unknown): void {
    this.#close(output, () => this.#step.recordError(error))
  }

  /** Called when the reader stops or aborts early, or the result is garbage-collected. */
  stop(reason: 'left' | 'aborted' | 'collected', output = this.#rest()): void {
    this.#close(output, () => {
      if (this.#step instanceof Span) this.#step.addEvent('not read to its end', { reason })
    })
  }

  #close(output: unknown, conclude: () => unknown): void {
    forgotten?.unregister(this)
    if (this.#step instanceof Span) this.#step.isStreaming = false
    if (this.#step.isEnded) return
    this.#setOutput(output)
    conclude()
    this.#step.end()
  }

  #setOutput(output: unknown): void {
    if (this.#step.hasOutput || !this.#step.keepsResult) return
    const items = this.#items
    if (output !== undefined) this.#step.setOutput(output)
    else if (items.length > 0) {
      const isText = items.every(item => typeof item === 'string')
      const more = this.#leftOut > 0 ? [`…[cut ${this.#leftOut} items]`] : []
      this.#step.setOutput(isText ? [...items, ...more].join('') : [...items, ...more])
    }
  }
}

/** Assumed size in bytes of an item that is not a string, because the actual size is unknown. */
const ITEM_BYTES = 200

/**
 * Returns a proxy that records the iteration of an iterable. All members of the iterable keep working, including
 * private members. Each iteration runs inside the step, so that calls made by a generator become part of the step.
 */
function watchIterable(target: object, reading: Reading, context: Context, step: Step): object {
  const watched: object = new Proxy(target, {
    get(_, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name === Symbol.asyncIterator || name === Symbol.iterator) {
        return () => {
          const iterator = value.call(target)
          return iterator === target ? watched : watchIterable(iterator, reading, context, step)
        }
      }
      if (name === 'next' || name === 'return' || name === 'throw') {
        return (...given: unknown[]) =>
          turn(() => value.apply(target, given), reading, name === 'return', context, step)
      }
      return value.bind(target)
    }
  })
  return watched
}

/** Runs one synchronous or asynchronous iterator call. */
function turn(act: () => unknown, reading: Reading, isLast: boolean, context: Context, step: Step): unknown {
  const look = (result: IteratorResult<unknown>) => {
    if (isLast) reading.stop('left')
    else if (result.done) reading.end()
    else reading.read(result.value)
    return result
  }
  const fail = (error: unknown) => {
    reading.fail(error)
    throw error
  }
  let result: unknown
  try {
    result = context.run(step, act)
  } catch (error) {
    return fail(error)
  }
  return result instanceof Promise ? result.then(look, fail) : look(result as IteratorResult<unknown>)
}

function watchStream(target: ReadableStream, reading: Reading, context: Context, step: Step): ReadableStream {
  const reader = target.getReader()
  // The wrapper reads nothing ahead of the application.
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await context.run(step, () => reader.read())
          if (done) {
            reading.end()
            controller.close()
          } else {
            reading.read(value instanceof Uint8Array ? new TextDecoder().decode(value) : value)
            controller.enqueue(value)
          }
        } catch (error) {
          reading.fail(error)
          controller.error(error)
        }
      },
      async cancel(reason) {
        reading.stop('left')
        await reader.cancel(reason)
      }
    },
    { highWaterMark: 0 }
  )
}
