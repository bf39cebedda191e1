import { useState } from 'preact/hooks'
import type { TraceListItem } from '../contract.ts'
import { at, errorMessageOf, fetchText, write } from '../state/api.ts'
import { presentTime } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { may } from '../state/session.ts'
import { save, tell } from '../state/toasts.ts'
import { Button, ButtonLink, LinkButton } from '../ui/controls.tsx'
import { FormDialog } from '../ui/dialog.tsx'
import { formatCounted } from '../ui/format.ts'
import { requireTyped, TypedConfirmation } from '../ui/typed-confirmation.tsx'
import { downloadName } from './download-name.ts'
import type { Selected } from './selection.ts'

interface Props {
  readonly slug: string
  readonly traces: readonly TraceListItem[]
  readonly selection: Selected
  changed(): void
}

/** Returns the address of the page that compares two traces. The older trace is A. */
function pairAddress(slug: string, pair: readonly TraceListItem[]): string {
  const [a, b] = pair.toSorted((one, other) => Date.parse(one.startedAt) - Date.parse(other.startedAt))
  return `${pathOf({ page: 'compare', slug })}?a=${a!.id}&b=${b!.id}`
}

export function Selection({ slug, traces, selection, changed }: Props) {
  const [asking, setAsking] = useState(false)
  const [typed, setTyped] = useState('')
  const chosen = traces.filter(({ id }) => selection.ids.has(id))
  const ids = chosen.map(({ id }) => id)
  if (ids.length === 0) return null
  const traceAt = (traceId: string) => at('p/:slug/traces/:traceId', { slug, traceId })
  const download = async () => {
    try {
      const lines: string[] = []
      for (const id of ids) lines.push(await fetchText(traceAt(id)))
      save(
        `${lines.join('\n')}\n`,
        downloadName(slug, 'selected traces', 'ndjson', presentTime()),
        'application/x-ndjson'
      )
    } catch (error) {
      tell(errorMessageOf(error), true)
    }
  }
  const remove = async () => {
    requireTyped(typed, ids.length, 'delete')
    let done = 0
    try {
      for (const id of ids) {
        await write('DELETE', traceAt(id))
        done++
      }
    } finally {
      if (done > 0) tell(`${formatCounted(done, 'trace')} deleted`)
      changed()
    }
    selection.clear()
    setAsking(false)
    setTyped('')
  }
  return (
    <div class="selection" role="toolbar" aria-label="Selected traces">
      <strong>{formatCounted(ids.length, 'trace')} selected</strong>
      {ids.length === 2 && <ButtonLink href={pairAddress(slug, chosen)}>Compare</ButtonLink>}
      <Button onClick={download}>Download</Button>
      {may(slug, 'owner') && (
        <button type="button" class="danger" onClick={() => setAsking(true)}>
          Delete
        </button>
      )}
      <LinkButton onClick={selection.clear}>Clear</LinkButton>
      {asking && (
        <FormDialog
          title={`Delete ${formatCounted(ids.length, 'trace')}?`}
          submit={`Delete ${formatCounted(ids.length, 'trace')}`}
          danger
          onClose={() => setAsking(false)}
          onSubmit={remove}
        >
          <p>Their spans and scores are deleted too. This cannot be undone.</p>
          <TypedConfirmation wanted={ids.length} value={typed} set={setTyped} />
        </FormDialog>
      )}
    </div>
  )
}
