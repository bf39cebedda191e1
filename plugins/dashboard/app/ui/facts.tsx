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

interface MomentProps {
  readonly iso: string
  readonly zone: Zone
  readonly now?: Date
  readonly text?: string
}

/** A time with the full time as its title. By default, the text is the short form of the time. */
export function Moment({ iso, zone, now = new Date(), text = shortTime(iso, zone, now) }: MomentProps) {
  return (
    <time dateTime={iso} title={fullTime(iso, zone)}>
      {text}
    </time>
  )
}

/** Shows a UTC day for which no time is known. */
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
