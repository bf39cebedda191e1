import { useState } from 'preact/hooks'
import { type ListQuery, withTime } from '../state/list-query.ts'
import { preferences } from '../state/preferences.ts'
import { useStore } from '../state/store.ts'
import { Field, FormDialog } from './dialog.tsx'
import { fromInput, timesIn, toInput } from './time.ts'

interface Props {
  readonly query: ListQuery
  onClose(): void
  change(query: ListQuery): void
}

export function TimeDialog({ query, onClose, change }: Props) {
  const { zone } = useStore(preferences)
  const [from, setFrom] = useState(query.from === undefined ? '' : toInput(query.from, zone))
  const [to, setTo] = useState(query.to === undefined ? '' : toInput(query.to, zone))
  const apply = () => {
    const [start, end] = [fromInput(from, zone), fromInput(to, zone)]
    if (start !== undefined && end !== undefined && start > end) throw new Error('The end is before the start.')
    change(withTime(query, { ...(start !== undefined && { from: start }), ...(end !== undefined && { to: end }) }))
  }
  return (
    <FormDialog title="Custom range" submit="Apply" onClose={onClose} onSubmit={apply}>
      <Field label="From" type="datetime-local" value={from} set={setFrom} />
      <Field label="To" type="datetime-local" value={to} set={setTo} />
      <p class="soft">Shows traces that started in this range. {timesIn(zone)}.</p>
    </FormDialog>
  )
}
