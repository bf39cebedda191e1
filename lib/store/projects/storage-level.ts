/** How full a project is, as one of three words. */

export type StorageLevel = 'ok' | 'warning' | 'critical'

/** `warning` from 80 % of the limit, `critical` from 95 %. Writes go on at any level. */
export function storageLevel(bytes: number, limitBytes: number): StorageLevel {
  if (bytes >= limitBytes * 0.95) return 'critical'
  return bytes >= limitBytes * 0.8 ? 'warning' : 'ok'
}
