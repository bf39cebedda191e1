/** A project's storage use, as one of three levels. */

export type StorageLevel = 'ok' | 'warning' | 'critical'

/** Returns `warning` from 80 % of the limit, and `critical` from 95 %. Writes continue at any level. */
export function storageLevel(bytes: number, limitBytes: number): StorageLevel {
  if (bytes >= limitBytes * 0.95) return 'critical'
  return bytes >= limitBytes * 0.8 ? 'warning' : 'ok'
}
