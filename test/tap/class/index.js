/** The class Test, which tap generates for a project from the list of its plugins. `@tapjs/core` imports it by name. */
import * as after from '@tapjs/after'
import * as asserts from '@tapjs/asserts'
import * as before from '@tapjs/before'
import * as beforeEach from '@tapjs/before-each'
import { parseTestArgs, TestBase } from '@tapjs/core'
import * as fixture from '@tapjs/fixture'
import * as intercept from '@tapjs/intercept'

/** Evaluated late, because `@tapjs/core` and this file import each other. */
const plugins = () => [after, asserts, before, beforeEach, fixture, intercept].map(({ plugin }) => plugin)

export class Test extends TestBase {
  constructor(options) {
    super(options)
    // Plugins call other plugins' methods through `t`.
    this.t = this
    for (const plugin of plugins()) addMembers(this, plugin(this, options))
  }

  pluginLoaded(plugin) {
    return plugins().includes(plugin)
  }

  test(...args) {
    return this.sub(Test, parseTestArgs(...args), this.test)
  }
}

/** Adds a plugin's members to a test. They run on the plugin, whose private fields they use. */
function addMembers(test, plugin) {
  for (let source = plugin; source !== Object.prototype; source = Object.getPrototypeOf(source)) {
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(source))) {
      if (name !== 'constructor' && !Object.hasOwn(test, name)) {
        Object.defineProperty(test, name, bindTo(plugin, descriptor))
      }
    }
  }
}

function bindTo(plugin, { value, get, set, enumerable }) {
  if (typeof value !== 'function') {
    return { enumerable, configurable: true, get: get?.bind(plugin) ?? (() => value), set: set?.bind(plugin) }
  }
  // A bound function has no frame of its own, and stacks of failures begin below the frame of the assertion.
  const method = (...args) => value.apply(plugin, args)
  return { enumerable, configurable: true, writable: true, value: method }
}
