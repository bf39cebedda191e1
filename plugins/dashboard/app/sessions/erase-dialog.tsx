/** Asks an owner to confirm that all traces of a user or of a session are erased, and erases them. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { errorMessageOf } from '../state/api.ts'
import { useLoad } from '../state/load.ts'
import { go } from '../state/navigation.ts'
import { pathOf } from '../state/route.ts'
import { tell } from '../state/toasts.ts'
import { Dialog, FormDialog } from '../ui/dialog.tsx'
import { formatCounted } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'
import { requireTyped, TypedNumber } from '../ui/typed-number.tsx'
import { countErased, type Erased, erase } from './erasure.ts'

interface Props {
  readonly slug: string
  readonly target: Erased
  onClose(): void
}

export function EraseDialog({ slug, target, onClose }: Props) {
  const [typed, setTyped] = useState('')
  const [said, setSaid] = useState('')
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])
  const [kind, id] = 'userId' in target ? ['user', target.userId] : ['session', target.sessionId]
  const counted = useLoad(`erase ${slug} ${kind} ${id}`, () => countErased(slug, target))
  const { value: count, error } = counted
  const title = `Erase ${kind} ${asLine(id, 60)}?`
  if (count === undefined) {
    return (
      <Dialog title={title} onClose={onClose}>
        {error === undefined ? (
          <p role="status">Counting the traces…</p>
        ) : (
          <p class="fault" role="alert">
            {errorMessageOf(error)}
          </p>
        )}
      </Dialog>
    )
  }
  const traces = formatCounted(count, 'trace')
  const remove = async () => {
    requireTyped(typed, count, 'erase')
    let erased = 0
    const progress = (done: number) => {
      erased = done
      setSaid(`${formatCounted(done, 'trace')} erased`)
    }
    try {
      await erase(slug, target, progress, stop.current.signal)
    } finally {
      if (erased > 0) tell(`${formatCounted(erased, 'trace')} of ${kind} ${asLine(id, 60)} erased`)
    }
    if (!stop.current.signal.aborted) go(pathOf({ page: kind === 'user' ? 'users' : 'sessions', slug }))
  }
  return (
    <FormDialog title={title} submit={`Erase ${traces}`} danger onClose={onClose} onSubmit={remove}>
      <p>
        Deletes {count === 1 ? 'the only trace' : `all ${traces}`} of this {kind}, of any age, including spans and
        scores. This cannot be undone.
      </p>
      <p class="soft">
        Existing backups still contain these traces until you delete the backups. The audit log records who erased them,
        when, how many, and the id of the {kind}.
      </p>
      <TypedNumber count={count} value={typed} set={setTyped} />
      <p role="status">{said}</p>
    </FormDialog>
  )
}
