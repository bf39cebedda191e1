/** A number with its change from the previous period. */
import { changeOf } from '../charts/series.ts'
import { formatPercent } from '../ui/format.ts'

interface Props {
  readonly value: number | null
  readonly before: number | null | undefined
  format(value: number): string
  /** Label of the number, if several numbers are shown side by side. */
  readonly name?: string
  /** Whether to show the change in percentage points, because the value is a share. */
  readonly points?: boolean
}

export function TotalNumber({ value, before, format, name, points = false }: Props) {
  if (value === null) return null
  return (
    <span class="total">
      {name !== undefined && <span class="soft">{name} </span>}
      <b>{format(value)}</b> <ChangeNumber {...{ value, before, format, points }} />
    </span>
  )
}

/** Only the change; nothing if the previous number is unknown. */
export function ChangeNumber({ value, before, format, points = false }: Omit<Props, 'name'>) {
  if (value === null || before === null || before === undefined) return null
  return (
    <span class="soft small change" title={`${format(before)} in the previous period`}>
      {points ? pointsBetween(value, before) : ratioBetween(value, before)}
    </span>
  )
}

/** If only the previous number is zero, no ratio exists. */
function ratioBetween(value: number, before: number): string {
  const change = changeOf(value, before)
  if (change === null) return value === before ? '±0' : 'new'
  // For a tenfold increase or more, a factor is easier to read than a percentage.
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
