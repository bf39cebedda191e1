/** The button that opens the dialog for erasing a user or a session. */
import { useState } from 'preact/hooks'
import { useDialogPart } from '../state/lazy-part.ts'
import { may } from '../state/session.ts'
import type { Erased } from './erasure.ts'

const loadDialog = () => import('./erase-dialog.tsx')

export function EraseButton({ slug, target }: { slug: string; target: Erased }) {
  const [asking, setAsking] = useState(false)
  const part = useDialogPart(loadDialog, asking, () => setAsking(false))
  if (!may(slug, 'owner')) return null
  return (
    <>
      <button type="button" class="danger" onClick={() => setAsking(true)}>
        Erase…
      </button>
      {part !== undefined && <part.EraseDialog slug={slug} target={target} onClose={() => setAsking(false)} />}
    </>
  )
}
