/** Formats numbers for people, always with a unit. */

const NARROW_SPACE = '\u202f'
export const NONE = '–'

const integer = new Intl.NumberFormat('en-US')

export function formatCount(count: number): string {
  return integer.format(count)
}

/** Formats a count in little space, with up to three digits: `950`, `12.3k`, `4.1M`. */
export function formatCompact(count: number): string {
  if (count < 1000) return formatCount(count)
  const isThousand = count < 999_500
  const value = count / (isThousand ? 1000 : 1_000_000)
  return `${value < 99.95 ? Number(value.toFixed(1)) : formatCount(Math.round(value))}${isThousand ? 'k' : 'M'}`
}

interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly totalTokens: number
}

/**
 * Whether the input and output token counts are known. The API returns 0 for both if the sender stated only a total.
 */
export const knowsParts = ({ inputTokens, outputTokens }: Usage): boolean => inputTokens > 0 || outputTokens > 0

/** Formats the input or output tokens, which are unknown if only a total is known. */
export const formatPart = (usage: Usage, part: 'inputTokens' | 'outputTokens'): string =>
  usage.totalTokens > 0 && !knowsParts(usage) ? NONE : formatCount(usage[part])

/** Formats a count with its noun: `1 span`, `12 spans`. */
export function formatCounted(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`
}

/** Formats a duration: `640 ms`, `4.21 s`, `3 min 20 s`, `5 h 12 min`, `3 d 4 h`. */
export function formatDuration(ms: number | null): string {
  if (ms === null || !Number.isFinite(ms)) return NONE
  if (ms < 0) return `−${formatDuration(-ms)}`
  if (ms < 1000) return `${ms < 10 && !Number.isInteger(ms) ? ms.toFixed(1) : Math.round(ms)} ms`
  const s = ms / 1000
  if (s < 9.995) return `${s.toFixed(2)} s`
  if (s < 59.95) return `${s.toFixed(1)} s`
  const seconds = Math.round(s)
  if (seconds < 3600) return both(Math.floor(seconds / 60), 'min', seconds % 60, 's')
  const minutes = Math.round(seconds / 60)
  if (minutes < 24 * 60) return both(Math.floor(minutes / 60), 'h', minutes % 60, 'min')
  const hours = Math.round(minutes / 60)
  return both(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

/** Formats a percentile of durations. It is approximate if the server counted the durations in buckets. */
export const formatPercentile = (ms: number | null, approximate: boolean): string =>
  ms !== null && approximate ? `≈ ${formatDuration(ms)}` : formatDuration(ms)

function both(large: number, largeUnit: string, small: number, smallUnit: string): string {
  const first = `${formatCount(large)} ${largeUnit}`
  return small === 0 ? first : `${first} ${small} ${smallUnit}`
}

/**
 * Formats a cost with two decimals or, below ten cents, with the given number of significant digits and at least four
 * decimals: `$1,204.50`, `$0.0290`, `$0.00123`.
 */
export function formatCost(usd: number | null, significant = 3): string {
  if (usd === null || !Number.isFinite(usd)) return NONE
  if (usd === 0) return '$0'
  if (usd < 0.000001) return '< $0.000001'
  if (usd >= 0.1) return `$${usd.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
  const digits = significant - 1 - Math.floor(Math.log10(usd))
  return `$${usd.toFixed(Math.max(4, Math.min(digits, 8)))}`
}

/** Formats a size in decimal units: `812 B`, `18.4 kB`, `1.2 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  const units = ['kB', 'MB', 'GB', 'TB', 'PB']
  let value = bytes
  let unit = -1
  do {
    value /= 1000
    unit++
  } while (value >= 999.5 && unit < units.length - 1)
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`
}

/** Formats a limit as a whole number of binary units if possible: `10 GiB`. */
export function formatLimit(bytes: number): string {
  const units = ['TiB', 'GiB', 'MiB']
  for (const [i, unit] of units.entries()) {
    const size = 2 ** (40 - 10 * i)
    if (bytes >= size && bytes % size === 0) return `${formatCount(bytes / size)} ${unit}`
  }
  return formatBytes(bytes)
}

/** Shortens an id for a table; the title shows it in full. */
export function shortId(id: string): string {
  return id.length <= 12 ? id : `${id.slice(0, 8)}…`
}

export function formatPercent(share: number): string {
  if (share > 0 && share < 0.001) return `under 0.1${NARROW_SPACE}%`
  return `${share > 0 && share < 0.1 ? (share * 100).toFixed(1) : Math.round(share * 100)}${NARROW_SPACE}%`
}

/** Formats a mean of scores, whose values are rarely more precise than two digits. */
export const formatMean = (mean: number): string =>
  Number.isInteger(mean) || Math.abs(mean) >= 1000
    ? formatScore(mean)
    : String(Number(mean.toFixed(Math.abs(mean) < 0.1 ? 3 : 2)))

export function formatScore(value: number | string | boolean): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string') return value
  return Number.isInteger(value) ? formatCount(value) : String(Number(value.toPrecision(4)))
}
