/**
 * The process on platforms without Node's modules: workerd, edge runtimes and browsers. The package's build puts the
 * files of this folder in the place of those in platform/node.
 */
import type { Step } from '../../record/step.ts'
import type { Context, Environment } from '../types.ts'

// biome-ignore lint/suspicious/noExplicitAny: these globals exist on some platforms only.
const platform = globalThis as any

export const environment: Environment = platform.process?.env ?? {}

/** A browser's users could read the key. */
export const platformObstacle: string | undefined =
  platform.document === undefined ? undefined : 'a browser shows the key to its users: record on the server instead'

export const warn = (text: string): void => console.warn(text)

/**
 * Without AsyncLocalStorage, the current step is known until the first `await`; later steps of a function need
 * `trace.span` instead of `spoor.span`.
 */
export function newContext(): Context {
  const Storage =
    platform.AsyncLocalStorage ?? platform.process?.getBuiltinModule?.('node:async_hooks')?.AsyncLocalStorage
  return Storage === undefined ? new SynchronousContext() : new Storage()
}

class SynchronousContext implements Context {
  #current: Step | undefined

  run<R>(step: Step, act: () => R): R {
    const outer = this.#current
    this.#current = step
    try {
      return act()
    } finally {
      this.#current = outer
    }
  }

  getStore(): Step | undefined {
    return this.#current
  }
}

/** There are no files, so what cannot be sent stays in memory. */
export const absolutePath = (): undefined => undefined
