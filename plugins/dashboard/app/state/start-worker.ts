/** The worker that looks through texts and compares them: what would hold up the page runs there. */

declare const SEARCH_WORKER: string

interface ScriptPolicy {
  createScriptURL(text: string): string
}
interface PolicyMaker {
  createPolicy(name: string, rules: { createScriptURL(text: string): string }): ScriptPolicy
}

const address = new URL(SEARCH_WORKER, import.meta.url).href
/** Browsers that know Trusted Types make a worker only by an address that a policy has let through: this one. */
const policy = (globalThis as { trustedTypes?: PolicyMaker }).trustedTypes?.createPolicy('spoor', {
  createScriptURL(text) {
    if (text !== address) throw new TypeError('Not the address of the worker')
    return text
  }
})

export function startWorker(): Worker {
  return new Worker((policy?.createScriptURL(address) ?? address) as string, { type: 'module' })
}
