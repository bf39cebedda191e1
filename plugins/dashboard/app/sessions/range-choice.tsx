/** Selects the time range over which users' totals are computed. */
import { DAY_RANGE_CHOICES } from '../state/time-range.ts'

/** The server's default. */
const USUAL = '30d'

const NAMES = { '7d': '7 days', '30d': '30 days', '90d': '90 days', '1y': 'year' } as const

export function RangeChoice({ range = USUAL, set }: { range?: string | undefined; set(range: string): void }) {
  return (
    <label class={`filter ${range === USUAL ? '' : 'is-set'}`}>
      <span>Added up over the last</span>
      <select value={range} onChange={event => set(event.currentTarget.value)}>
        {DAY_RANGE_CHOICES.map(each => (
          <option key={each} value={each}>
            {NAMES[each]}
          </option>
        ))}
      </select>
    </label>
  )
}
