/** Named facts: values, times and days. */
import type { ComponentChildren } from 'preact'
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
