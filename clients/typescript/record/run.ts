/** Calls a function as a step. The function's result becomes the step's output, and an exception fails the step. */
import type { AsyncLocalStorage } from 'node:async_hooks'
import { isReadLater, watchReading } from './reading.ts'
import { Span, type Step } from './step.ts'

export type Context = AsyncLocalStorage<Step>

export function runStep<R>(context: Context, step: Step, act: () => R): R {
  let result: R
  try {
    result = context.run(step, act)
  } catch (error) {
    fail(step, error)
    throw error
  }
  if (isThenable(result)) {
    // A lazy promise starts its work when `then` is called, so the call belongs inside the step.
    const settled = context.run(step, () => Promise.resolve(result))
    return settled.then(
      value => settle(context, step, value),
      error => {
        fail(step, error)
        throw error
      }
    ) as R
  }
  return settle(context, step, result)
}

function settle<V>(context: Context, step: Step, value: V): V {
  if (isReadLater(value)) return watchReading(context, step, value)
  succeed(step, value)
  return value
}

export function succeed(step: Step, output: unknown): void {
  if (step.isEnded) return
  if (!step.hasOutput && output !== undefined) step.setOutput(output)
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

/** Whether a step can be the current one. A span that outlives its trace cannot contain another span. */
export function isUsable(step: Step | undefined): step is Step {
  return step !== undefined && !(step instanceof Span ? step.isOver : step.isEnded)
}
