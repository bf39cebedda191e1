/** The horizontal axis of a chart: time steps or other slots, all of equal width. */
import type { SeriesAnswer, Step } from '../contract.ts'
import { clockTime, MONTHS, offsetName, timeFieldsOf, type Zone, zoneName } from '../ui/time.ts'

export interface Tick {
  /** Index of the slot where the tick is drawn. */
  readonly at: number
  readonly text: string
}

export interface Axis {
  /** Each slot's label, shown with the slot's numbers. */
  readonly names: readonly string[]
  readonly ticks: readonly Tick[]
  /** Name of the time zone; undefined if the axis does not show time. */
  readonly zone?: string
}

export const STEP_MS: Readonly<Record<Step, number>> = { minute5: 300_000, hour: 3_600_000, day: 86_400_000 }

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
/** Maximum number of labels that fit on a phone. */
const MOST_TICKS = 7

/** Builds an axis of slots that are not times. At most `most` slots, evenly spaced, have a label. */
export function placesAxis(names: readonly string[], most = MOST_TICKS): Axis {
  const every = Math.ceil(names.length / most)
  return { names, ticks: names.flatMap((text, at) => (at % every === 0 ? [{ at, text }] : [])) }
}

/**
 * As shares of the axis: a label's length, and the distance between two ticks at which a label fits before the second.
 */
const LABEL = { after: 0.1, before: 0.22 }

/**
 * Returns the ticks whose labels fit. The label of a tick near the end is placed before the tick, or the tick is
 * omitted.
 */
export function shownTicks({ names, ticks }: Pick<Axis, 'names' | 'ticks'>): (Tick & { readonly isBefore: boolean })[] {
  const size = Math.max(1, names.length)
  return ticks.flatMap((tick, i) => {
    const isBefore = tick.at > 0 && 1 - tick.at / size < LABEL.after
    const previous = ticks[i - 1]?.at ?? -size
    return isBefore && (tick.at - previous) / size < LABEL.before ? [] : [{ ...tick, isBefore }]
  })
}

interface Moment {
  /** Minute of the day, rounded down to a multiple of the step: with a half-hour zone offset, 05:30 becomes 05:00. */
  readonly minutes: number
  readonly day: number
  readonly month: number
  readonly year: number
  readonly weekday: number
  readonly iso: string
}

/** Start of each time step, and the end of the last step. Days are in the time zone of `offset`. */
type TimeSteps = Pick<SeriesAnswer, 'starts' | 'to' | 'step' | 'offset'>

export function timeAxis({ starts, to, step, offset: days }: TimeSteps, zone: Zone): Axis {
  const moments =
    step === 'day'
      ? starts.map(iso => momentOf(new Date(Date.parse(iso) + days * 60_000).toISOString(), 'utc', 24 * 60))
      : starts.map(iso => momentOf(iso, zone, STEP_MS[step] / 60_000))
  const names = moments.map((moment, i) =>
    step === 'day'
      ? `${DAYS[moment.weekday]} ${dateOf(moment)} ${moment.year}`
      : `${DAYS[moment.weekday]} ${dateOf(moment)}, ${clockOf(moment.iso, zone)} – ${clockOf(starts[i + 1] ?? to, zone)}`
  )
  const offset = starts.length === 0 ? new Date() : new Date(starts.at(-1)!)
  return {
    names,
    ticks: ticksOf(moments, zone),
    zone: step === 'day' ? zoneName(days) : zone === 'utc' ? 'UTC' : offsetName(offset)
  }
}

function momentOf(iso: string, zone: Zone, stepMinutes: number): Moment {
  const { clock, ...date } = timeFieldsOf(new Date(iso), zone)
  const ofDay = Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3, 5))
  return { ...date, iso, minutes: ofDay - (ofDay % stepMinutes) }
}

const dateOf = ({ day, month }: Moment) => `${day} ${MONTHS[month]}`
const clockOf = (iso: string, zone: Zone) => clockTime(iso, zone).slice(0, 5)

/** Rules for choosing which steps have a label, finest first. The first rule that yields few enough labels applies. */
const RULES: readonly { readonly takes: (moment: Moment) => boolean; readonly by: 'clock' | 'date' | 'month' }[] = [
  ...[5, 10, 15, 30, 60, 120, 180, 240, 360, 720].map(every => ({
    takes: ({ minutes }: Moment) => minutes % every === 0,
    by: 'clock' as const
  })),
  { takes: ({ minutes }) => minutes === 0, by: 'date' },
  { takes: ({ minutes, day }) => minutes === 0 && day % 2 === 1 && day < 31, by: 'date' },
  { takes: ({ minutes, weekday }) => minutes === 0 && weekday === 1, by: 'date' },
  { takes: ({ minutes, day }) => minutes === 0 && (day === 1 || day === 15), by: 'date' },
  { takes: ({ minutes, day }) => minutes === 0 && day === 1, by: 'month' },
  { takes: ({ minutes, day, month }) => minutes === 0 && day === 1 && month % 3 === 0, by: 'month' },
  { takes: ({ minutes, day, month }) => minutes === 0 && day === 1 && month === 0, by: 'month' }
]

function ticksOf(moments: readonly Moment[], zone: Zone): Tick[] {
  const found = RULES.map(({ takes, by }) => ({ by, taken: moments.flatMap((each, at) => (takes(each) ? [at] : [])) }))
  const fit = found.find(({ taken }) => taken.length > 0 && taken.length <= MOST_TICKS)
  if (fit === undefined) return []
  const days = new Set(moments.map(dateOf)).size
  return fit.taken.map(at => {
    const moment = moments[at]!
    const isDate = fit.by === 'date' || (fit.by === 'clock' && moment.minutes === 0 && days > 1)
    const text = isDate ? dateOf(moment) : fit.by === 'clock' ? clockOf(moment.iso, zone) : monthOf(moment)
    return { at, text }
  })
}

const monthOf = ({ month, year }: Moment) => (month === 0 ? String(year) : MONTHS[month]!)
