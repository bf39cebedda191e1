/** Named facts: values, times, days and scores. */

import type { ComponentChildren } from 'preact'
import type { ScoreSummary } from '../contract.ts'
import { formatScore } from './format.ts'
import { asLine } from './text.ts'
import { dayName, fullTime, shortTime, type Zone } from './time.ts'

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

export function Moment({ iso, zone, now }: { iso: string; zone: Zone; now: Date }) {
  return (
    <time dateTime={iso} title={fullTime(iso, zone)}>
      {shortTime(iso, zone, now)}
    </time>
  )
}

/** Shows a UTC day whose time is unknown. */
export function Day({ iso }: { iso: string }) {
  return (
    <time dateTime={iso.slice(0, 10)} title={`${iso.slice(0, 10)}, UTC`}>
      {dayName(iso)}
    </time>
  )
}

export function ScoreChip({ name, score }: { name?: string; score: ScoreSummary }) {
  return (
    <span class="score">
      {name !== undefined && <span class="soft">{name}</span>} {asLine(formatScore(score.value), 24)}
    </span>
  )
}
