/** Dialogs of a trace: metadata, and the trace to compare with. */

import { useState } from 'preact/hooks'
import { memberAt, membersOf, nodeAt, parseExactly, readString, sourceOf, writeIndented } from '../content/json-text.ts'
import type { TraceListItem } from '../contract.ts'
import { at, write } from '../state/api.ts'
import { compareAddress, isTraceId, traceIdIn } from '../state/comparison.ts'
import { useRead } from '../state/load.ts'
import { go } from '../state/navigation.ts'
import { tell } from '../state/toasts.ts'
import { Dialog, Field, Form, FormDialog } from '../ui/dialog.tsx'
import { Problem, Waiting } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import { fullTime, type Zone } from '../ui/time.ts'

interface MetadataProps {
  readonly slug: string
  readonly traceId: string
  /** The current metadata as a JSON string. */
  readonly text: string
  onClose(): void
  changed(): void
}

/** Edits metadata. Fields are added or replaced, as in the API. Numbers keep their digits as typed. */
export function MetadataDialog({ slug, traceId, text, onClose, changed }: MetadataProps) {
  const [before] = useState(() => writeIndented(parseExactly(text)))
  const [after, setAfter] = useState(before)
  const save = async () => {
    const patch = metadataChanges(before, after)
    if (patch === undefined) return onClose()
    const body = `{"metadata":${patch}}`
    const { changed: isChanged } = await write('PATCH', at('p/:slug/traces/:traceId', { slug, traceId }), { body })
    tell(isChanged ? 'Metadata changed' : 'Nothing to change')
    changed()
    onClose()
  }
  return (
    <FormDialog title="Metadata" wide submit="Save" onClose={onClose} onSubmit={save}>
      <label class="field">
        <span>
          A JSON object. Fields are added or replaced; one that is deleted here stays, set it to null instead.
        </span>
        <textarea
          class="mono"
          rows={14}
          spellcheck={false}
          value={after}
          onInput={event => setAfter(event.currentTarget.value)}
        />
      </label>
    </FormDialog>
  )
}

/** Returns the changed fields as a JSON string; undefined if nothing changed. */
export function metadataChanges(before: string, after: string): string | undefined {
  try {
    JSON.parse(after)
  } catch (error) {
    throw new Error(`This is not JSON: ${error instanceof Error ? error.message : error}`)
  }
  const [old, next] = [nodeAt(before)!, nodeAt(after)!]
  if (next.kind !== 'object') throw new Error('Metadata is an object: it begins with { and ends with }.')
  const fields = membersOf(after, next).flatMap(({ key, node }) => {
    const name = readString(after, key!)
    const known = memberAt(before, old, name)
    const isSame = known !== undefined && squeeze(sourceOf(before, known)) === squeeze(sourceOf(after, node))
    return isSame ? [] : [`${JSON.stringify(name)}:${sourceOf(after, node)}`]
  })
  return fields.length === 0 ? undefined : `{${fields.join(',')}}`
}

/** Removes the whitespace between values. */
function squeeze(text: string): string {
  return text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')
}

interface CompareProps {
  readonly slug: string
  readonly trace: TraceListItem
  readonly zone: Zone
  onClose(): void
}

/** Selects the trace to compare with: the previous trace of the same name, or any trace by id. */
export function CompareDialog({ slug, trace, zone, onClose }: CompareProps) {
  const [id, setId] = useState('')
  // `to` is inclusive, so the first results include the trace itself.
  const query = new URLSearchParams({ name: trace.name, to: trace.startedAt, limit: '5' })
  const { value, error, again } = useRead(at('p/:slug/traces', { slug }, query))
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
          const other = traceIdIn(id)
          if (!isTraceId(other)) throw new Error('An id has 32 hexadecimal characters.')
          onClose()
          go(to(other))
        }}
      >
        <Field label="Or with the trace with this id" spellcheck={false} autocomplete="off" value={id} set={setId} />
      </Form>
    </Dialog>
  )
}
