/** Formats times. The server sends UTC; the visitor reads local time or UTC. */
import type { Zone } from '../state/time-range.ts'

export type { Zone } from '../state/time-range.ts'

/** Returns a date and time of day in a zone, and the day of the week. */
export function timeFieldsOf(at: Date, zone: Zone) {
  // The UTC fields of the shifted time are the fields in the zone.
  const shifted = zone === 'utc' ? at : new Date(at.getTime() - at.getTimezoneOffset() * 60_000)
  const clock = [shifted.getUTCHours(), shifted.getUTCMinutes(), shifted.getUTCSeconds()].map(two).join(':')
  return {
    year: shifted.getUTCFullYear(),
    month: shifted.getUTCMonth(),
    day: shifted.getUTCDate(),
    weekday: shifted.getUTCDay(),
    /** Time of day with milliseconds: `09:41:07.123`. */
    clock: `${clock}.${String(shifted.getUTCMilliseconds()).padStart(3, '0')}`
  }
}

export const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const two = (value: number) => String(value).padStart(2, '0')

/** Formats the time of day: `09:41:07`. */
export function clockTime(iso: string, zone: Zone, withMs = false): string {
  return timeFieldsOf(new Date(iso), zone).clock.slice(0, withMs ? 12 : 8)
}

/** Formats a time today as `09:41:07`, and any other time with as much of the date as needed. */
export function shortTime(iso: string, zone: Zone, now: Date): string {
  const at = timeFieldsOf(new Date(iso), zone)
  const today = timeFieldsOf(now, zone)
  const clock = clockTime(iso, zone)
  if (at.year !== today.year) return `${at.day} ${MONTHS[at.month]} ${at.year}, ${clock.slice(0, 5)}`
  if (at.month !== today.month || at.day !== today.day) return `${at.day} ${MONTHS[at.month]} ${clock}`
  return clock
}

/** Formats a UTC day: `25 Nov 2026`. */
export function dayName(iso: string): string {
  const { day, month, year } = timeFieldsOf(new Date(iso), 'utc')
  return `${day} ${MONTHS[month]} ${year}`
}

/** Formats the full time: `2026-11-25 09:41:07.123 UTC`, or local time with the offset of the visitor's zone. */
export function fullTime(iso: string, zone: Zone): string {
  const date = new Date(iso)
  const { year, month, day } = timeFieldsOf(date, zone)
  // Microseconds, if the server sent them.
  const [, micro = ''] = /\.\d{3}(\d{3})Z$/.exec(iso) ?? []
  return `${year}-${two(month + 1)}-${two(day)} ${clockTime(iso, zone, true)}${micro} ${zone === 'utc' ? 'UTC' : offsetName(date)}`
}

/** Formats a zone's offset: `UTC+02:00`. */
export function offsetName(at: Date): string {
  return zoneName(-at.getTimezoneOffset())
}

/** Says in which zone a page's times are. */
export const timesIn = (zone: Zone): string =>
  `Times are in ${zone === 'utc' ? 'UTC' : `your time zone, ${offsetName(new Date())}`}`

/** Returns the name of a zone from its offset in minutes east of UTC. */
export function zoneName(minutes: number): string {
  if (minutes === 0) return 'UTC'
  const size = Math.abs(minutes)
  return `UTC${minutes < 0 ? '−' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
}

/** Converts an instant to the value of an `<input type=datetime-local>`. */
export function toInput(iso: string, zone: Zone): string {
  const { year, month, day, clock } = timeFieldsOf(new Date(iso), zone)
  return `${String(year).padStart(4, '0')}-${two(month + 1)}-${two(day)}T${clock.slice(0, 5)}`
}

/** Converts the input's value to an instant; undefined if invalid. */
export function fromInput(text: string, zone: Zone): string | undefined {
  const at = new Date(zone === 'utc' ? `${text}Z` : text)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** Formats the age of a time: `just now`, `4 min ago`, `3 h ago`, `2 d ago`. */
export function ago(iso: string, now: number): string {
  const s = (now - Date.parse(iso)) / 1000
  if (s < 45) return 'just now'
  if (s < 3600) return `${Math.max(1, Math.round(s / 60))} min ago`
  if (s < 86_400) return `${Math.round(s / 3600)} h ago`
  return `${Math.round(s / 86_400)} d ago`
}
