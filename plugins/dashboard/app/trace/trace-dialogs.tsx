/** Dialogs of a trace: its details, its metadata, and the trace to compare with. */

import { useState } from 'preact/hooks'
import { memberAt, membersOf, nodeAt, parseExactly, readString, sourceOf, writeIndented } from '../content/json-text.ts'
import { metadataLeaves } from '../content/metadata-leaves.ts'
import type { Outline, TraceListItem } from '../contract.ts'
import { at, write } from '../state/api.ts'
import { compareAddress, isTraceId, traceIdIn } from '../state/comparison.ts'
import { useRead } from '../state/load.ts'
import { go } from '../state/navigation.ts'
import { prefer, preferences } from '../state/preferences.ts'
import { useStore } from '../state/store.ts'
import { tell } from '../state/toasts.ts'
import { Button } from '../ui/controls.tsx'
import { Dialog, Field, Form, FormDialog } from '../ui/dialog.tsx'
import { Fact, Moment } from '../ui/facts.tsx'
import { formatBytes, formatCounted, formatDuration } from '../ui/format.ts'
import { Problem, Waiting } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import { fullTime, type Zone } from '../ui/time.ts'

export type TraceDialogName = 'about' | 'metadata' | 'compare' | 'delete'

interface DialogProps extends AboutProps {
  readonly which: TraceDialogName
  /** The metadata to edit, as a JSON string. */
  readonly metadata: string
  /** Address of the list of traces. */
  readonly list: string
  changed(): void
}

export function TraceDialog({ which, metadata, list, changed, ...props }: DialogProps) {
  switch (which) {
    case 'about':
      return <AboutDialog {...props} />
    case 'metadata':
      return <MetadataDialog {...props} text={metadata} changed={changed} />
    case 'compare':
      return <CompareDialog {...props} />
    default:
      return <DeleteDialog {...props} list={list} />
  }
}

interface AboutProps {
  readonly slug: string
  readonly trace: Outline['trace']
  readonly zone: Zone
  readonly edit: (() => void) | undefined
  onClose(): void
}

/** Shows a trace's metadata and how it was stored. The visitor selects which values the heads of all traces show. */
function AboutDialog({ slug, trace, zone, edit, onClose }: AboutProps) {
  const { metadata } = useStore(preferences)
  const chosen = metadata[slug] ?? []
  const leaves = metadataLeaves(trace.metadata)
  const choose = (name: string, isChosen: boolean) =>
    prefer({
      metadata: { ...metadata, [slug]: isChosen ? [...chosen, name] : chosen.filter(each => each !== name) }
    })
  return (
    <Dialog title="Trace details" wide onClose={onClose}>
      <dl class="trace-facts">
        <Fact name="Trace ID">
          <code>{trace.id}</code>
        </Fact>
        <Fact name="Size">{formatBytes(trace.estimatedBytes)}</Fact>
        <Stored trace={trace} zone={zone} />
        {trace.metadataUpdatedAt !== null && (
          <Fact name="Metadata edited">
            <Moment iso={trace.metadataUpdatedAt} zone={zone} />
          </Fact>
        )}
      </dl>
      <h3>Metadata</h3>
      {leaves.length === 0 ? (
        <p class="soft">No metadata.</p>
      ) : (
        <>
          <p class="soft">Select the values to show at the top of each trace.</p>
          <ul class="metadata-values">
            {leaves.map(({ name, value }) => (
              <li key={name}>
                <label>
                  <input
                    type="checkbox"
                    checked={chosen.includes(name)}
                    onChange={event => choose(name, event.currentTarget.checked)}
                  />
                  <span class="soft">{asLine(name, 100)}</span>
                  <span>{asLine(value, 400)}</span>
                </label>
              </li>
            ))}
          </ul>
        </>
      )}
      {edit !== undefined && (
        <p class="buttons">
          <Button onClick={edit}>Edit metadata</Button>
        </p>
      )}
    </Dialog>
  )
}

/** The delay between a trace's end and its storage, unless the sender's clock was ahead of the server's. */
function Stored({ trace, zone }: { trace: Outline['trace']; zone: Zone }) {
  const { ingestedAt, endedAt } = trace
  const late = ingestedAt === null || endedAt === null ? -1 : Date.parse(ingestedAt) - Date.parse(endedAt)
  if (ingestedAt === null || late < 0) return null
  return (
    <Fact name="Stored">
      <Moment iso={ingestedAt} zone={zone} text={`${formatDuration(late)} after its end`} />
    </Fact>
  )
}

interface MetadataProps {
  readonly slug: string
  readonly trace: Outline['trace']
  /** The current metadata as a JSON string. */
  readonly text: string
  onClose(): void
  changed(): void
}

/** Edits metadata. Fields are added or replaced, as in the API. Numbers keep their digits as typed. */
function MetadataDialog({ slug, trace, text, onClose, changed }: MetadataProps) {
  const [before] = useState(() => writeIndented(parseExactly(text)))
  const [after, setAfter] = useState(before)
  const save = async () => {
    const patch = metadataChanges(before, after)
    if (patch === undefined) return onClose()
    const body = `{"metadata":${patch}}`
    const { changed: isChanged } = await write('PATCH', at('p/:slug/traces/:traceId', { slug, traceId: trace.id }), {
      body
    })
    tell(isChanged ? 'Metadata changed' : 'Nothing to change')
    changed()
    onClose()
  }
  return (
    <FormDialog title="Edit metadata" wide submit="Save" onClose={onClose} onSubmit={save}>
      <label class="field">
        <span>
          A JSON object. New and changed fields are saved. To clear a field, set it to null; removing it here has no
          effect.
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
    throw new Error(`Invalid JSON: ${error instanceof Error ? error.message : error}`)
  }
  const [old, next] = [nodeAt(before)!, nodeAt(after)!]
  if (next.kind !== 'object') throw new Error('Metadata must be a JSON object.')
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

interface DeleteProps {
  readonly slug: string
  readonly trace: Outline['trace']
  /** Address of the page to show after the deletion. */
  readonly list: string
  onClose(): void
}

function DeleteDialog({ slug, trace, list, onClose }: DeleteProps) {
  const erase = async () => {
    await write('DELETE', at('p/:slug/traces/:traceId', { slug, traceId: trace.id }))
    tell('Trace deleted')
    go(list)
  }
  return (
    <FormDialog title="Delete this trace?" submit="Delete trace" danger onClose={onClose} onSubmit={erase}>
      <p>
        This deletes <b>{asLine(trace.name, 100)}</b>, its {formatCounted(trace.spanCount, 'span')} and all its scores.
        This cannot be undone.
      </p>
    </FormDialog>
  )
}

/** Focuses a link when it appears, unless the user is typing an id already. */
function focusOnce(link: HTMLAnchorElement | null) {
  const active = document.activeElement
  if (!(active instanceof HTMLInputElement && active.value !== '')) link?.focus()
}

interface CompareProps {
  readonly slug: string
  readonly trace: TraceListItem
  readonly zone: Zone
  onClose(): void
}

/** Selects the trace to compare with: the previous trace of the same name, or any trace by id. */
function CompareDialog({ slug, trace, zone, onClose }: CompareProps) {
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
        <Waiting what="the previous trace" />
      ) : before === undefined ? (
        <p class="soft">No earlier trace has this name.</p>
      ) : (
        <p>
          <a ref={focusOnce} href={to(before.id)} onClick={onClose}>
            Previous trace named {asLine(trace.name, 60)}, {fullTime(before.startedAt, zone)}
          </a>
        </p>
      )}
      <Form
        submit="Compare"
        onCancel={onClose}
        onSubmit={() => {
          const other = traceIdIn(id)
          if (!isTraceId(other)) throw new Error('A trace ID has 32 hexadecimal characters.')
          onClose()
          go(to(other))
        }}
      >
        <Field label="Or enter a trace ID" spellcheck={false} autocomplete="off" value={id} set={setId} />
      </Form>
    </Dialog>
  )
}
