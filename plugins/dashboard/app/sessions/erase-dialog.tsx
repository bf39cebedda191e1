/** Asks an owner to confirm that all traces of a user or of a session are erased, and erases them. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { MOST_REMAINING } from '../../../../lib/schema/field-values.ts'
import { errorMessageOf } from '../state/api.ts'
import { useLoad } from '../state/load.ts'
import { go } from '../state/navigation.ts'
import { pathOf } from '../state/route.ts'
import { tell } from '../state/toasts.ts'
import { Dialog, FormDialog } from '../ui/dialog.tsx'
import { formatCount, formatCounted } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'
import { requireTyped, TypedConfirmation } from '../ui/typed-confirmation.tsx'
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
  // An ID without visible characters cannot be typed.
  const wanted = /[^\s\p{C}]/u.test(id) ? id : count
  const remove = async () => {
    requireTyped(typed, wanted, 'erase')
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
    <FormDialog title={title} submit={`Erase ${kind}`} danger onClose={onClose} onSubmit={remove}>
      <p>
        This deletes {allOf(count)} of this {kind} in this project, from any time, including all inputs, outputs, spans
        and scores. This cannot be undone.
      </p>
      <p class="soft">
        Existing backups still contain these traces until you delete the backups. The audit log records who erased them,
        when, how many, and the {kind}’s ID.
      </p>
      <TypedConfirmation wanted={wanted} value={typed} set={setTyped} />
      <p role="status">{said}</p>
    </FormDialog>
  )
}

/** Names all traces of a user or session. The server counts up to a limit. */
function allOf(count: number): string {
  if (count === 1) return 'the only trace'
  return count < MOST_REMAINING ? `all ${formatCount(count)} traces` : `all traces (at least ${formatCount(count)})`
}
