/** Selects the trace to compare with: the previous trace of the same name, or any trace by id. */

import { useState } from 'preact/hooks'
import type { TraceListItem } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { compareAddress, idIn, isTraceId } from '../state/comparison.ts'
import { useLoad } from '../state/load.ts'
import { go } from '../state/place.ts'
import { Dialog, Form } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { Problem, Waiting } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import { fullTime, type Zone } from '../ui/time.ts'

interface Props {
  readonly slug: string
  readonly trace: TraceListItem
  readonly zone: Zone
  onClose(): void
}

export function CompareDialog({ slug, trace, zone, onClose }: Props) {
  const [id, setId] = useState('')
  // `to` is inclusive, so the first results include the trace itself.
  const query = new URLSearchParams({ name: trace.name, to: trace.startedAt, limit: '5' })
  const path = at('p/:slug/traces', { slug }, query)
  const { value, error, again } = useLoad(path, signal => read(path, { signal }))
  const before = value?.traces.find(each => each.id !== trace.id)
  const to = (other: string) => compareAddress(slug, { a: other, b: trace.id })
  return (
    <Dialog title="Compare with…" onClose={onClose}>
      {error !== undefined ? (
        <Problem error={error} again={again} />
      ) : value === undefined ? (
        <Waiting what="the trace before" />
      ) : before === undefined ? (
        <p class="soft">There is no earlier trace of this name.</p>
      ) : (
        <p>
          <a href={to(before.id)} onClick={onClose}>
            The one before, of {fullTime(before.startedAt, zone)}
          </a>
          <br />
          <span class="soft">{asLine(trace.name, 60)}</span>
        </p>
      )}
      <Form
        submit="Compare"
        onCancel={onClose}
        onSubmit={() => {
          const other = idIn(id)
          if (!isTraceId(other)) throw new Error('An id has 32 hexadecimal characters.')
          onClose()
          go(to(other))
        }}
      >
        <Field label="Or with the trace of this id" spellcheck={false} autocomplete="off" value={id} set={setId} />
      </Form>
    </Dialog>
  )
}
