/**
 * The process on platforms without Node's modules: workerd, edge runtimes and browsers. The package's build replaces
 * the files in platform/node with those in this folder.
 */
import type { Step } from '../../record/step.ts'
import type { Context, Platform } from '../types.ts'

// biome-ignore lint/suspicious/noExplicitAny: these globals exist on some platforms only.
const globals = globalThis as any

const platform: Platform = {
  environment: globals.process?.env ?? {},
  obstacle: globals.document && 'a browser shows the key to its users: record on the server instead',
  warn: text => console.warn(text),
  newContext() {
    const builtin = globals.process?.getBuiltinModule?.('node:async_hooks')
    const Storage = globals.AsyncLocalStorage ?? builtin?.AsyncLocalStorage
    return Storage === undefined ? new SynchronousContext() : new Storage()
  },
  // There are no files, so data that cannot be sent stays in memory.
  absolutePath: () => undefined
}
export default platform

/**
 * A context for platforms without AsyncLocalStorage. The current step is known until the first `await`; later steps of
 * a function need `trace.span` instead of `spoor.span`.
 */
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
