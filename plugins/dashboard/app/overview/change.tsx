/** A number, and how it compares with the period before. */
import { changeOf } from '../charts/series.ts'
import { formatPercent } from '../ui/format.ts'

interface TotalProps {
  readonly value: number | null
  readonly before: number | null | undefined
  format(value: number): string
  /** The name of the number, if several are shown side by side. */
  readonly name?: string
  /** Shares are compared in points of a percent. */
  readonly points?: boolean
}

export function TotalNumber({ value, before, format, name, points = false }: TotalProps) {
  if (value === null) return null
  return (
    <span class="total">
      {name !== undefined && <span class="soft">{name} </span>}
      <b>{format(value)}</b>
      {before !== null && before !== undefined && (
        <span class="soft small" title={`${format(before)} in the period before`}>
          {' '}
          {points ? pointsBetween(value, before) : ratioBetween(value, before)}
        </span>
      )}
    </span>
  )
}

/** Empty where there was nothing before: no ratio says how much more that is. */
function ratioBetween(value: number, before: number): string {
  const change = changeOf(value, before)
  if (change === null) return value === before ? '±0' : ''
  // Ten times as much is no percentage that anybody reads.
  if (change >= 9) return `×${Math.round(change + 1)}`
  return signed(change, formatPercent(Math.abs(change)))
}

function pointsBetween(value: number, before: number): string {
  const change = (value - before) * 100
  return signed(change, `${Math.abs(change).toFixed(1)} points`, 0.05)
}

function signed(change: number, size: string, least = 0.0005): string {
  return Math.abs(change) < least ? '±0' : `${change > 0 ? '+' : '−'}${size}`
}
