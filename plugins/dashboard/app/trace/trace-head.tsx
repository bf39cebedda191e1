/** A trace's facts and actions. Each fact links to the traces that share it. */

import { useState } from 'preact/hooks'
import { conversationOf, loadBody, pathOfBody, TRACE_ROW } from '../content/bodies.ts'
import { sourceOf, writeIndented } from '../content/json-text.ts'
import { messagesAsText } from '../content/message.ts'
import type { Outline } from '../contract.ts'
import { at, errorMessageOf, fetchText, write } from '../state/api.ts'
import { usePart } from '../state/lazy-part.ts'
import { type Filter, narrowed, readQuery, writeQuery } from '../state/list-query.ts'
import { go, serverAddress } from '../state/navigation.ts'
import { pathOf } from '../state/route.ts'
import { may, session } from '../state/session.ts'
import { copy, tell } from '../state/toasts.ts'
import { Button, Icon, StatusIcon } from '../ui/controls.tsx'
import { FormDialog } from '../ui/dialog.tsx'
import { Fact, Moment } from '../ui/facts.tsx'
import { formatBytes, formatCost, formatCount, formatDuration, knowsParts, NONE } from '../ui/format.ts'
import { Menu } from '../ui/menu.tsx'
import { asLine } from '../ui/text.ts'
import { ago, fullTime, shortTime, type Zone } from '../ui/time.ts'

const loadDialogs = () => import('./trace-dialogs.tsx')
const loadLinks = () => import('./public-links.tsx')

interface Props {
  readonly slug: string
  readonly outline: Outline
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
  const { slug, outline, selected, list, zone, now, neighbour, annotate, changed } = props
  const [dialog, setDialog] = useState<'metadata' | 'compare' | 'delete' | 'link' | undefined>()
  const [metadata, setMetadata] = useState('{}')
  const links = usePart(loadLinks, dialog === 'link').part
  const dialogs = usePart(loadDialogs, dialog === 'metadata' || dialog === 'compare').part
  const { trace } = outline
  const base = pathOf({ page: 'traces', slug })
  const isRunning = trace.status === 'running'
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
        <a class="back" href={`${base}${list ?? ''}`} data-returning={`t-${trace.id}`} title="To the list">
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
              { label: 'Link to this', key: 'y', act: () => void copy(location.href, 'Link') },
              { label: 'Trace id', act: () => void copy(trace.id, 'Trace id') },
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
              { label: 'curl for the API', act: () => void copy(curl, 'Command') },
              'line',
              {
                label: 'Download the trace',
                href: new URL(`api/${path}?download=1`, document.baseURI).href,
                download: `trace-${trace.id}.json`
              }
            ]}
          />
          <Menu
            end
            name="More"
            label={<Icon name="more" />}
            items={[
              { label: 'Compare with…', act: () => setDialog('compare') },
              ...(may(slug, 'member') ? [{ label: 'Edit metadata', act: () => void edit().catch(fail) }] : []),
              ...(may(slug, 'owner') && session.get()?.publicLinks
                ? [{ label: 'Public link…', act: () => setDialog('link') }]
                : []),
              ...(may(slug, 'owner') ? [{ label: 'Delete the trace', act: () => setDialog('delete') }] : [])
            ]}
          />
        </div>
      </div>
      <dl class="trace-facts">
        <Fact name="Latency">
          {isRunning ? (
            <span title="Still running">
              {formatDuration(Math.max(0, Math.floor((now - Date.parse(trace.startedAt)) / 1000) * 1000))}…
            </span>
          ) : (
            formatDuration(trace.durationMs)
          )}
        </Fact>
        <Fact name="Tokens">
          {isRunning ? (
            <span title="Known when the trace has ended">{NONE}</span>
          ) : (
            <>
              {formatCount(trace.usage.totalTokens)}{' '}
              {knowsParts(trace.usage) && (
                <small>
                  {formatCount(trace.usage.inputTokens)} in, {formatCount(trace.usage.outputTokens)} out
                </small>
              )}
            </>
          )}
        </Fact>
        <Fact name="Cost">
          {isRunning ? <span title="Known when the trace has ended">{NONE}</span> : formatCost(trace.costUsd)}
        </Fact>
        <Fact name="Started">
          <time dateTime={trace.startedAt} title={`${fullTime(trace.startedAt, zone)}, ${ago(trace.startedAt, now)}`}>
            {shortTime(trace.startedAt, zone, new Date(now))}
          </time>
        </Fact>
        <Way slug={slug} name="Model" filter="model" value={trace.model} />
        <Way slug={slug} name="Environment" filter="env" value={trace.environment} />
        <Way
          slug={slug}
          name="Session"
          filter="session"
          value={trace.sessionId}
          page={sessionId => `${pathOf({ page: 'session', slug, sessionId })}#${trace.id}`}
        />
        <Way
          slug={slug}
          name="User"
          filter="user"
          value={trace.userId}
          page={userId => pathOf({ page: 'user', slug, userId })}
        />
        {trace.tags.length > 0 && (
          <Fact name="Tags">
            {trace.tags.map((tag, i) => (
              <span key={tag}>
                {i > 0 && ' '}
                <a href={addressOf(slug, 'tag', tag)}>{asLine(tag, 40)}</a>
              </span>
            ))}
          </Fact>
        )}
        <Ingested trace={trace} zone={zone} />
        <Fact name="Size">{formatBytes(trace.estimatedBytes)}</Fact>
        {trace.metadataUpdatedAt !== null && (
          <Fact name="Metadata edited">
            <Moment iso={trace.metadataUpdatedAt} zone={zone} now={new Date(now)} />
          </Fact>
        )}
      </dl>
      {dialog === 'metadata' && dialogs !== undefined && (
        <dialogs.MetadataDialog
          slug={slug}
          traceId={trace.id}
          text={metadata}
          onClose={() => setDialog(undefined)}
          changed={changed}
        />
      )}
      {dialog === 'link' && links !== undefined && (
        <links.PublicLinks slug={slug} traceId={trace.id} zone={zone} onClose={() => setDialog(undefined)} />
      )}
      {dialog === 'compare' && dialogs !== undefined && (
        <dialogs.CompareDialog slug={slug} trace={trace} zone={zone} onClose={() => setDialog(undefined)} />
      )}
      {dialog === 'delete' && (
        <FormDialog
          title="Delete this trace?"
          submit="Delete the trace"
          danger
          onClose={() => setDialog(undefined)}
          onSubmit={async () => {
            await write('DELETE', path)
            tell('Trace deleted')
            go(`${base}${list ?? ''}`)
          }}
        >
          <p>
            <b>{asLine(trace.name, 100)}</b> with its {formatCount(trace.spanCount)} spans and all its scores. This
            cannot be undone.
          </p>
        </FormDialog>
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

/** Shows the delay between a trace's end and its storage. */
function Ingested({ trace, zone }: { trace: Outline['trace']; zone: Zone }) {
  const { ingestedAt, endedAt } = trace
  if (ingestedAt === null || endedAt === null) return null
  const late = Date.parse(ingestedAt) - Date.parse(endedAt)
  // The sender's clock may be ahead of the server's clock.
  if (late < 0) return null
  return (
    <Fact name="Ingested">
      <Moment iso={ingestedAt} zone={zone} text={`${formatDuration(late)} after its end`} />
    </Fact>
  )
}

function addressOf(slug: string, filter: Filter, value: string): string {
  return `${pathOf({ page: 'traces', slug })}${writeQuery(narrowed(readQuery(''), { [filter]: value }))}`
}

interface WayProps {
  readonly slug: string
  readonly name: string
  readonly filter: Filter
  readonly value: string | null
  /** Returns the address of a value's own page. */
  readonly page?: (value: string) => string
}

/** A fact with a link to the traces that share the fact, and a link to the fact's own page, if any. */
function Way({ slug, name, filter, value, page }: WayProps) {
  if (value === null) return null
  const list = addressOf(slug, filter, value)
  const all = `All traces with this ${name.toLowerCase()}`
  return (
    <Fact name={name}>
      {page === undefined ? (
        <a href={list} title={all}>
          {asLine(value, 60)}
        </a>
      ) : (
        <>
          <a href={page(value)}>{asLine(value, 60)}</a>{' '}
          <a class="narrow-icon" href={list} title={all}>
            <Icon name="filter" />
            <span class="unseen">{all}</span>
          </a>
        </>
      )}
    </Fact>
  )
}
