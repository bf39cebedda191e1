/** Decides which addresses in recorded text may become links. */

const SAFE = /^(?:https?|mailto):/i

/** Returns the address if it may become a link; otherwise undefined, for example for scripts, data and files. */
export function safeAddress(address: string): string | undefined {
  const trimmed = address.trim()
  return SAFE.test(trimmed) && !/[\u0000-\u0020]/.test(trimmed) ? trimmed : undefined
}
