/** A trace's name, the actions on it, and its facts. */

import { useState } from 'preact/hooks'
import { conversationOf, loadBody, pathOfBody } from '../content/bodies.ts'
import { sourceOf, writeIndented } from '../content/json-text.ts'
import { messagesAsText } from '../content/message.ts'
import type { ShownTotals } from '../content/span-sums.ts'
import { TRACE_ROW } from '../content/span-tree.ts'
import type { Outline } from '../contract.ts'
import { at, errorMessageOf, fetchText } from '../state/api.ts'
import { useDialogPart } from '../state/lazy-part.ts'
import { serverAddress } from '../state/navigation.ts'
import { pathOf } from '../state/route.ts'
import { may, session } from '../state/session.ts'
import { copy, tell } from '../state/toasts.ts'
import { Button, Icon, StatusIcon } from '../ui/controls.tsx'
import { Menu } from '../ui/menu.tsx'
import { asLine } from '../ui/text.ts'
import type { Zone } from '../ui/time.ts'
import { loadLater } from './load-later.ts'
import type { TraceDialogName } from './trace-dialogs.tsx'
import { TraceFacts } from './trace-facts.tsx'

const loadLinks = () => import('./public-links.tsx')

interface Props {
  readonly slug: string
  readonly outline: Outline
  readonly totals: ShownTotals
  readonly selected: string
  /** Query string of the list from which the trace was opened. */
  readonly list: string | undefined
  readonly zone: Zone
  readonly now: number
  neighbour(by: 1 | -1): void
  annotate(): void
  changed(): void
}

export function TraceHead(props: Props) {
  const { slug, outline, selected, list, zone, neighbour, annotate, changed } = props
  const [dialog, setDialog] = useState<TraceDialogName | 'link' | undefined>()
  const [metadata, setMetadata] = useState('{}')
  const close = () => setDialog(undefined)
  const dialogs = useDialogPart(loadLater, dialog !== undefined && dialog !== 'link', close)
  const links = useDialogPart(loadLinks, dialog === 'link', close)
  const { trace } = outline
  const base = pathOf({ page: 'traces', slug })
  const isSpan = outline.spans.some(({ id }) => id === selected)
  const fail = (error: unknown) => tell(errorMessageOf(error), true)
  const bodyOf = (id: string) => loadBody(pathOfBody(slug, trace.id, id), id === TRACE_ROW ? outline.version : 0)
  const copyMessages = async () => {
    const { input, output } = conversationOf(await bodyOf(selected))
    const messages = [...(input ?? []), ...(output ?? [])]
    if (messages.length === 0) return tell('There are no messages to copy', true)
    await copy(messagesAsText(messages, writeIndented), 'Messages')
  }
  const edit = async () => {
    const body = await bodyOf(TRACE_ROW)
    setMetadata(body.metadata === undefined ? '{}' : sourceOf(body.text, body.metadata))
    setDialog('metadata')
  }
  const path = at('p/:slug/traces/:traceId', { slug, traceId: trace.id })
  const curl = `curl ${serverAddress()}/api/v1/traces/${trace.id} -H "Authorization: Bearer $SPOOR_API_KEY"`
  return (
    <header class="trace-head">
      <div class="trace-line">
        <a class="back" href={`${base}${list ?? ''}`} data-returning={`t-${trace.id}`} title="Back to the list">
          <Icon name="left" /> <span>Traces</span>
        </a>
        <h1 tabIndex={-1} title={trace.name}>
          {asLine(trace.name, 160)}
        </h1>
        <StatusIcon status={trace.status} />
        <div class="trace-tools">
          {list !== undefined && (
            <>
              <StepButton icon="left" label="Previous trace in the list" shortcut="k" step={() => neighbour(-1)} />
              <StepButton icon="right" label="Next trace in the list" shortcut="j" step={() => neighbour(1)} />
            </>
          )}
          {may(slug, 'member') && <Button onClick={annotate}>Annotate</Button>}
          <Menu
            end
            label={
              <>
                <Icon name="copy" /> <span class="wide-only">Copy</span>
              </>
            }
            name="Copy"
            items={[
              { label: 'Copy link', key: 'y', act: () => void copy(location.href, 'Link') },
              { label: 'Trace ID', act: () => void copy(trace.id, 'Trace ID') },
              ...(isSpan
                ? [
                    {
                      label: 'Span as JSON',
                      act: () => void bodyOf(selected).then(({ text }) => copy(text, 'JSON'), fail)
                    }
                  ]
                : []),
              { label: 'Messages as text', act: () => void copyMessages().catch(fail) },
              { label: 'Whole trace as JSON', act: () => void fetchText(path).then(text => copy(text, 'Trace'), fail) },
              { label: 'curl command', act: () => void copy(curl, 'Command') },
              'line',
              {
                label: 'Download trace',
                href: new URL(`api/${path}?download=1`, document.baseURI).href,
                download: `spoor-${slug}-trace-${trace.id}.json`
              }
            ]}
          />
          <Menu
            end
            name="More"
            label={<Icon name="more" />}
            items={[
              { label: 'Compare with…', act: () => setDialog('compare') },
              { label: 'Metadata and details', act: () => setDialog('about') },
              ...(may(slug, 'member') ? [{ label: 'Edit metadata', act: () => void edit().catch(fail) }] : []),
              ...(may(slug, 'owner') && session.get()?.publicLinks
                ? [{ label: 'Public link…', act: () => setDialog('link') }]
                : []),
              ...(may(slug, 'owner') ? [{ label: 'Delete trace', act: () => setDialog('delete') }] : [])
            ]}
          />
        </div>
      </div>
      <TraceFacts {...props} about={() => setDialog('about')} />
      {dialog === 'link' && links !== undefined && (
        <links.PublicLinks slug={slug} traceId={trace.id} zone={zone} onClose={close} />
      )}
      {dialog !== undefined && dialog !== 'link' && dialogs !== undefined && (
        <dialogs.TraceDialog
          which={dialog}
          slug={slug}
          trace={trace}
          zone={zone}
          metadata={metadata}
          edit={may(slug, 'member') ? () => void edit().catch(fail) : undefined}
          list={`${base}${list ?? ''}`}
          onClose={close}
          changed={changed}
        />
      )}
    </header>
  )
}

function StepButton(props: { icon: 'left' | 'right'; label: string; shortcut: string; step(): void }) {
  const { icon, label, shortcut, step } = props
  return (
    <button type="button" class="plain" title={`${label} (${shortcut})`} aria-label={label} onClick={step}>
      <Icon name={icon} />
    </button>
  )
}
