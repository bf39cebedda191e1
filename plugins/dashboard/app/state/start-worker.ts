/** Starts the worker that searches and compares texts, because searches and comparisons would block the page. */

declare const SEARCH_WORKER: string

interface ScriptPolicy {
  createScriptURL(text: string): string
}
interface PolicyMaker {
  createPolicy(name: string, rules: { createScriptURL(text: string): string }): ScriptPolicy
}

const address = new URL(SEARCH_WORKER, import.meta.url).href
/** With Trusted Types, workers start only from URLs that a policy approves. This policy approves only `address`. */
const policy = (globalThis as { trustedTypes?: PolicyMaker }).trustedTypes?.createPolicy('spoor', {
  createScriptURL(text) {
    if (text !== address) throw new TypeError('Not the address of the worker')
    return text
  }
})

export function startWorker(): Worker {
  return new Worker((policy?.createScriptURL(address) ?? address) as string, { type: 'module' })
}
