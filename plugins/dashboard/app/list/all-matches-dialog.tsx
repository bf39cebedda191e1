/** Downloads or deletes all traces that match a list's filters, and shows the progress. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { errorMessageOf } from '../state/api.ts'
import type { ListQuery } from '../state/list-query.ts'
import { presentTime } from '../state/preferences.ts'
import { save, tell } from '../state/toasts.ts'
import { Button } from '../ui/controls.tsx'
import { Dialog, FormDialog } from '../ui/dialog.tsx'
import { formatCount, formatCounted } from '../ui/format.ts'
import { requireTyped, TypedConfirmation } from '../ui/typed-confirmation.tsx'
import { deleteAll, findAllIds, fixed, readTable, readWholeTraces } from './all-matches.ts'
import { downloadName, filterText } from './download-name.ts'

export type MatchAction = 'csv' | 'ndjson' | 'delete'

interface Props {
  readonly slug: string
  readonly query: ListQuery
  readonly action: MatchAction
  onClose(): void
  /** Called after traces were deleted. */
  changed(): void
}

export function AllMatchesDialog(props: Props) {
  return props.action === 'delete' ? <DeleteDialog {...props} /> : <DownloadDialog {...props} />
}

/** Runs work that stops when the dialog is closed. Returns the error, if any. */
function useWork(work: (signal: AbortSignal) => Promise<void>): unknown {
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    const stop = new AbortController()
    work(stop.signal).catch(error => {
      if (!stop.signal.aborted) setError(error)
    })
    return () => stop.abort()
  }, [])
  return error
}

function DownloadDialog({ slug, query, action, onClose }: Props) {
  const [said, setSaid] = useState('Finding the traces…')
  const error = useWork(async signal => {
    const all = fixed(query)
    const nameOf = (ending: string) => downloadName(slug, `traces ${filterText(query)}`, ending, presentTime())
    let traces = 0
    if (action === 'csv') {
      const table = await readTable(slug, all, done => setSaid(`${formatCounted(done, 'trace')} read`), signal)
      traces = table.traces
      save(new Blob(table.lines), nameOf('csv'), 'text/csv')
    } else {
      const ids = await findAllIds(slug, all, done => setSaid(`${formatCounted(done, 'trace')} found`), signal)
      const progress = (done: number) => setSaid(`${formatCount(done)} of ${formatCounted(ids.length, 'trace')} read`)
      const lines = await readWholeTraces(slug, ids, progress, signal)
      traces = ids.length
      save(new Blob(lines), nameOf('ndjson'), 'application/x-ndjson')
    }
    tell(`${formatCounted(traces, 'trace')} downloaded`)
    onClose()
  })
  return (
    <Dialog title={`Download all matches as ${action === 'csv' ? 'CSV' : 'NDJSON'}`} onClose={onClose}>
      <Progress said={said} error={error} />
      <div class="buttons">
        <Button onClick={onClose}>Stop</Button>
      </div>
    </Dialog>
  )
}

function Progress({ said, error }: { said: string; error: unknown }) {
  if (error !== undefined) {
    return (
      <p class="fault" role="alert">
        {errorMessageOf(error)}
      </p>
    )
  }
  return <p role="status">{said}</p>
}

function DeleteDialog({ slug, query, onClose, changed }: Props) {
  const [ids, setIds] = useState<readonly string[] | undefined>()
  const [said, setSaid] = useState('Counting the traces…')
  const [typed, setTyped] = useState('')
  const stop = useRef(new AbortController())
  const error = useWork(async signal => {
    const found = await findAllIds(slug, fixed(query), done => setSaid(`${formatCounted(done, 'trace')} found`), signal)
    setIds(found)
    setSaid('')
  })
  useEffect(() => () => stop.current.abort(), [])
  if (ids === undefined) {
    return (
      <Dialog title="Delete all matches" onClose={onClose}>
        <Progress said={said} error={error} />
        <div class="buttons">
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </Dialog>
    )
  }
  if (ids.length === 0) {
    return (
      <Dialog title="Delete all matches" onClose={onClose}>
        <p>No traces match these filters.</p>
      </Dialog>
    )
  }
  const remove = async () => {
    requireTyped(typed, ids.length, 'delete')
    let deleted = 0
    const progress = (done: number) => {
      deleted = done
      setSaid(`${formatCount(done)} of ${formatCounted(ids.length, 'trace')} deleted`)
    }
    try {
      await deleteAll(slug, ids, progress, stop.current.signal)
    } finally {
      if (deleted > 0) tell(`${formatCounted(deleted, 'trace')} deleted`)
      changed()
    }
    onClose()
  }
  const count = formatCounted(ids.length, 'trace')
  return (
    <FormDialog title={`Delete ${count}?`} submit={`Delete ${count}`} danger onClose={onClose} onSubmit={remove}>
      <p>This deletes all traces that match the filters now, with their spans and scores. This cannot be undone.</p>
      <TypedConfirmation wanted={ids.length} value={typed} set={setTyped} />
      <p role="status">{said}</p>
    </FormDialog>
  )
}
