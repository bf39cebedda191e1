const SAFE = /^(?:https?|mailto):/i

/** Returns the address if a link may lead there; undefined for scripts, data, files and other addresses. */
export function safeAddress(address: string): string | undefined {
  const trimmed = address.trim()
  return SAFE.test(trimmed) && !/[\u0000-\u0020]/.test(trimmed) ? trimmed : undefined
}
