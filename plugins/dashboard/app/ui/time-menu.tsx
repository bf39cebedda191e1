/** The menu of time ranges. */
import { useState } from 'preact/hooks'
import { useDialogPart } from '../state/lazy-part.ts'
import { type ListQuery, withTime } from '../state/list-query.ts'
import { preferences } from '../state/preferences.ts'
import { useStore } from '../state/store.ts'
import { ALL_TIME, DEFAULT_RANGE, LIST_RANGES, rangeName } from '../state/time-range.ts'
import { Menu } from './menu.tsx'
import { shortTime } from './time.ts'

const loadTimeDialog = () => import('./time-dialog.tsx')

interface TimeProps {
  readonly query: ListQuery
  /** Time ranges to offer. By default, the list's ranges and all time. */
  readonly ranges?: readonly string[]
  change(query: ListQuery): void
}

export function TimeMenu({ query, ranges = [...LIST_RANGES, ALL_TIME], change }: TimeProps) {
  const [dialog, setDialog] = useState(false)
  const part = useDialogPart(loadTimeDialog, dialog, () => setDialog(false))
  const { zone } = useStore(preferences)
  const now = new Date()
  const word = (iso: string | undefined, other: string) => (iso === undefined ? other : shortTime(iso, zone, now))
  const isCustom = query.from !== undefined || query.to !== undefined
  const chosen = query.range ?? DEFAULT_RANGE
  return (
    <>
      <Menu
        end
        class="time"
        down
        label={isCustom ? `${word(query.from, 'Start')} – ${word(query.to, 'now')}` : rangeName(chosen)}
        items={[
          ...ranges.map(range => ({
            label: rangeName(range),
            checked: !isCustom && chosen === range,
            // The default range needs no parameter, so that the plain address is the default list.
            act: () => change(withTime(query, range === DEFAULT_RANGE ? {} : { range }))
          })),
          'line',
          { label: 'Custom range…', checked: isCustom, act: () => setDialog(true) }
        ]}
      />
      {part !== undefined && (
        <part.TimeDialog
          query={query}
          onClose={() => setDialog(false)}
          change={next => {
            setDialog(false)
            change(next)
          }}
        />
      )}
    </>
  )
}
