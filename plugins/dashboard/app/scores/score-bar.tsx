/** Selects the score, environment and time range of the page. */
import type { Facets, ScoreName } from '../contract.ts'
import { type ScorePageQuery, withChoice } from '../state/score-query.ts'
import { CHART_RANGES, DEFAULT_RANGE, rangeName } from '../state/time-range.ts'
import { Icon } from '../ui/icons.tsx'
import { Menu } from '../ui/menu.tsx'
import { shortTime, type Zone } from '../ui/time.ts'

interface Props {
  readonly query: ScorePageQuery
  readonly names: readonly ScoreName[]
  readonly facets: Facets | undefined
  readonly zone: Zone
  change(query: ScorePageQuery): void
}

interface ChoiceProps {
  readonly label: string
  readonly any: string
  readonly value: string | undefined
  readonly values: readonly string[]
  set(value: string): void
}

function Choice({ label, any, value = '', values, set }: ChoiceProps) {
  const shown = [...new Set(value === '' ? values : [value, ...values])]
  return (
    <label class={`filter ${value === '' ? '' : 'is-set'}`}>
      <span>{label}</span>
      <select value={value} onChange={event => set(event.currentTarget.value)}>
        <option value="">{any}</option>
        {shown.map(each => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  )
}

const nameOfRange = (range: string): string => (range === '1y' ? 'Last year' : rangeName(range))

export function ScoreBar({ query, names, facets, zone, change }: Props) {
  const { range: _, from, to, ...rest } = withChoice(query, {})
  const now = new Date()
  const word = (iso: string | undefined, other: string) => (iso === undefined ? other : shortTime(iso, zone, now))
  const isRange = from === undefined && to === undefined
  const range = query.range ?? DEFAULT_RANGE
  const { value: __, min: ___, below: ____, source: _____, ...wide } = { ...rest, ...(query.range && { range }) }
  const time = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
  return (
    <div class="filters">
      <search class="is-open" aria-label="Choose scores">
        <Choice
          label="Score"
          any="all"
          value={query.name}
          values={[...new Set(names.map(({ name }) => name))]}
          set={name => change({ ...wide, ...time, name })}
        />
        <Choice
          label="Environment"
          any="any"
          value={query.env}
          values={facets?.environments ?? []}
          set={env => change({ ...withChoice(query, { env }) })}
        />
      </search>
      <Menu
        end
        class="time"
        label={
          <>
            {isRange ? nameOfRange(range) : `${word(from, 'the first')} – ${word(to, 'now')}`} <Icon name="down" />
          </>
        }
        items={CHART_RANGES.map(each => ({
          label: nameOfRange(each),
          checked: isRange && each === range,
          act: () => change({ ...rest, range: each })
        }))}
      />
    </div>
  )
}
