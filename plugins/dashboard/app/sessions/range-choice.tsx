/** Over how long users are added up. */
import { USER_RANGE, USER_RANGES } from './groups.ts'

const NAMES = { '7d': '7 days', '30d': '30 days', '90d': '90 days', '1y': 'year' } as const

export function RangeChoice({ range = USER_RANGE, set }: { range?: string | undefined; set(range: string): void }) {
  return (
    <label class={`filter ${range === USER_RANGE ? '' : 'is-set'}`}>
      <span>Added up over the last</span>
      <select value={range} onChange={event => set(event.currentTarget.value)}>
        {USER_RANGES.map(each => (
          <option key={each} value={each}>
            {NAMES[each]}
          </option>
        ))}
      </select>
    </label>
  )
}
