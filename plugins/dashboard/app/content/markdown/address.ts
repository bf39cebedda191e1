/** Which addresses in texts of traces may be links. */

const SAFE = /^(?:https?|mailto):/i

/** An address that may be a link, or undefined: no scripts, no data, no files. */
export function safeAddress(address: string): string | undefined {
  const trimmed = address.trim()
  return SAFE.test(trimmed) && !/[\u0000-\u0020]/.test(trimmed) ? trimmed : undefined
}
