/** Edits metadata. Fields are added or replaced, as the API merges them. Numbers keep the digits as typed. */
import { useState } from 'preact/hooks'
import { memberAt, membersOf, nodeAt, parseExactly, readString, sourceOf, writeIndented } from '../content/json-text.ts'
import { at, write } from '../state/api.ts'
import { tell } from '../state/toasts.ts'
import { Dialog, Form } from '../ui/dialog.tsx'

interface Props {
  readonly slug: string
  readonly traceId: string
  /** The current metadata as a JSON string. */
  readonly text: string
  onClose(): void
  changed(): void
}

export function MetadataDialog({ slug, traceId, text, onClose, changed }: Props) {
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
    <Dialog title="Metadata" wide onClose={onClose}>
      <Form submit="Save" onCancel={onClose} onSubmit={save}>
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
      </Form>
    </Dialog>
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
