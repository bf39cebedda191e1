/** Formats times, sizes and numbers for people. */

const UNITS = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000]
] as const

/** Formats a time as `in 29 days`, `3 hours ago` or `now`, and null as a dash. */
export function relativeTime(iso: string | null, now = Date.now()): string {
  if (iso === null) return '-'
  const ms = Date.parse(iso) - now
  const unit = UNITS.find(([, length]) => Math.abs(ms) >= length)
  if (unit === undefined) return 'now'
  return new Intl.RelativeTimeFormat('en').format(Math.round(ms / unit[1]), unit[0])
}

/**
 * Formats a size as `0 B`, `1.5 kB` or `10 GiB`. Whole multiples of 1 MiB use powers of 1024, other sizes powers of
 * 1000.
 */
export function size(bytes: number): string {
  const isBinary = bytes > 0 && bytes % 1024 ** 2 === 0
  const base = isBinary ? 1024 : 1000
  const units = isBinary ? ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] : ['B', 'kB', 'MB', 'GB', 'TB', 'PB']
  let amount = bytes
  while (amount >= base && units.length > 1) {
    amount /= base
    units.shift()
  }
  return `${Number(amount.toPrecision(3))} ${units[0]}`
}

/** Formats a number as `12,345`. */
export function count(number: number): string {
  return number.toLocaleString('en')
}

/** Formats a number and a noun as `1 trace` or `12,345 traces`. */
export function counted(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`
}

/** Formats a rate as `1,234/s, 5.6 MB/s`. */
export function rate(items: number, bytes: number, seconds: number): string {
  return `${count(Math.round(items / seconds))}/s, ${size(Math.round(bytes / seconds))}/s`
}

/** Draws a progress bar such as `[######--------------] 30 %`. */
export function bar(done: number, total: number): string {
  const share = total > 0 ? Math.min(1, done / total) : 1
  const full = Math.round(share * BAR_LENGTH)
  return `[${'#'.repeat(full)}${'-'.repeat(BAR_LENGTH - full)}] ${String(Math.floor(share * 100)).padStart(3)} %`
}

const BAR_LENGTH = 20

/** Draws a progress bar with a count, such as `[######--------------] 30 % 3 of 10 traces`. */
export function tracesDone(done: number, total: number): string {
  return `${bar(done, total)}  ${count(done)} of ${counted(total, 'trace')}`
}

/** Formats a duration as `450 ms`, `3.21 s`, `2 min 3 s` or `1 h 5 min`; null as an empty string. */
export function duration(ms: number | null): string {
  if (ms === null) return ''
  if (ms < 1000) return `${ms} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9995 ? 2 : 1)} s`
  const seconds = Math.round(ms / 1000)
  const minutes = Math.round(ms / 60_000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${count(Math.floor(minutes / 60))} h ${minutes % 60} min`
}

/** Formats a cost as `$12.30` or, below ten cents, with two significant digits; null as an empty string. */
export function money(usd: number | null): string {
  if (usd === null) return ''
  if (usd === 0 || usd >= 0.0995) return `$${usd.toLocaleString('en', DOLLARS)}`
  return usd < 0.000_001 ? '<$0.000001' : `$${usd.toLocaleString('en', SMALL_SUM)}`
}

const DOLLARS = { minimumFractionDigits: 2, maximumFractionDigits: 2 }
const SMALL_SUM = { maximumSignificantDigits: 2 }

/** Formats a canonical timestamp as `2026-01-31 12:00:00`, in UTC. */
export const longClock = (iso: string): string => iso.slice(0, 19).replace('T', ' ')

/** Formats a canonical timestamp as `01-31 12:00:00`, or as `2025-01-31` if it is in another year. */
export function shortClock(iso: string, now = new Date().toISOString()): string {
  return iso.slice(0, 4) === now.slice(0, 4) ? longClock(iso).slice(5) : iso.slice(0, 10)
}
