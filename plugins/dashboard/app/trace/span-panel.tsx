/** Shows everything recorded for a span or for the trace itself. */

import { useEffect } from 'preact/hooks'
import { type Body, knownBody, loadBody, pathOfBody } from '../content/bodies.ts'
import { countMembers } from '../content/json-text.ts'
import { JsonView } from '../content/json-view.tsx'
import { TRACE_ROW } from '../content/span-tree.ts'
import { Plain } from '../content/text-view.tsx'
import type { Outline, OutlineSpan } from '../contract.ts'
import { usePart } from '../state/lazy-part.ts'
import { useLoad } from '../state/load.ts'
import { prefer, preferences } from '../state/preferences.ts'
import { useStore } from '../state/store.ts'
import { Icon } from '../ui/controls.tsx'
import { formatBytes } from '../ui/format.ts'
import { Pending, Problem, Waiting } from '../ui/problem.tsx'
import { asLine, cut } from '../ui/text.ts'
import type { Zone } from '../ui/time.ts'
import { Conversations, CutNote, type EarlierCall, RawTexts } from './conversations.tsx'
import { shownFailureOf } from './failure.ts'
import { loadLater } from './load-later.ts'
import { TABS, type Tab } from './opening.ts'
import { PanelHead } from './panel-head.tsx'

interface Props {
  readonly slug: string
  readonly outline: Outline
  readonly selected: string
  /** The only root, whose row also stands for the trace; undefined if the trace has a row of its own. */
  readonly root: OutlineSpan | undefined
  /** Whether spans are still loading. */
  readonly isPart: boolean
  readonly tab: Tab
  readonly zone: Zone
  setTab(tab: Tab): void
  select(key: string): void
  annotate(): void
  changed(): void
}

/** Returns the tabs of a row. Attributes and events belong to spans, metadata to the trace. */
function tabsOf(isTrace: boolean, span: OutlineSpan | undefined): Tab[] {
  return TABS.filter(tab => {
    if (tab === 'metadata') return isTrace
    return span !== undefined || (tab !== 'attributes' && tab !== 'events')
  })
}

export function SpanPanel(props: Props) {
  const { slug, outline, selected, root, isPart, tab, zone, setTab } = props
  const span = outline.spans.find(({ id }) => id === selected)
  const isTrace = selected === TRACE_ROW || selected === root?.id
  const { texts } = useStore(preferences)
  const path = span === undefined && !isTrace ? undefined : pathOfBody(slug, outline.trace.id, selected)
  const loaded = useBody(path, selected === TRACE_ROW ? outline.version : 0)
  // The root's row shows the trace's own texts and metadata too.
  const ofTrace = isTrace && span !== undefined ? pathOfBody(slug, outline.trace.id, TRACE_ROW) : undefined
  const whole = useBody(ofTrace, outline.version)
  const earlier = useEarlier(slug, outline, span)
  const later = usePart(loadLater, tab === 'events' || tab === 'scores' || span?.kind === 'llm')
  useNext(slug, outline, span, loaded.value !== undefined)
  if (path === undefined) {
    return (
      <section class="panel" aria-label="Span">
        {isPart ? (
          <Waiting what="the span" />
        ) : (
          <p class="soft">The parent of these spans was not recorded, or has not arrived yet.</p>
        )}
      </section>
    )
  }
  const scores = outline.scores.filter(score => isTrace || score.spanId === selected).length
  const labels: Record<Tab, string> = {
    messages: 'Messages',
    json: 'JSON',
    attributes: 'Attributes',
    metadata: `Metadata ${Object.keys(outline.trace.metadata).length || ''}`,
    events: `Events ${span?.eventCount || ''}`,
    scores: `Scores ${scores || ''}`
  }
  const tabs = tabsOf(isTrace, span)
  const current = tabs.includes(tab) ? tab : isTrace && tab === 'attributes' ? 'metadata' : 'messages'
  const body = loaded.value
  const error = loaded.error ?? whole.error
  const metadata = span === undefined ? body : whole.value
  const kind = span?.kind ?? 'trace'
  return (
    <section class="panel" aria-label={isTrace ? 'Trace' : 'Span'}>
      <PanelHead outline={outline} span={span} body={body} zone={zone} />
      {span?.status === 'error' && body !== undefined && <FailureNote body={body} />}
      <div class="tabs">
        <div role="tablist" aria-label="Views" onKeyDown={moveTab}>
          {tabs.map(each => (
            <button
              key={each}
              type="button"
              role="tab"
              id={`tab-${each}`}
              aria-selected={each === current}
              aria-controls="tab-panel"
              tabIndex={each === current ? 0 : -1}
              onClick={() => setTab(each)}
            >
              {labels[each]}
            </button>
          ))}
        </div>
        {current === 'messages' && (
          <fieldset class="switch" aria-label="Texts">
            {(['rendered', 'text'] as const).map(each => (
              <button key={each} type="button" aria-pressed={texts === each} onClick={() => prefer({ texts: each })}>
                {each === 'rendered' ? 'Formatted' : 'Raw'}
              </button>
            ))}
          </fieldset>
        )}
      </div>
      <div
        class="panel-body"
        id="tab-panel"
        role="tabpanel"
        aria-labelledby={`tab-${current}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
        tabIndex={0}
        key={`${selected} ${current}`}
      >
        {current === 'scores' ? (
          later.part === undefined ? (
            <Pending of={later} what="the scores" />
          ) : (
            <later.part.TraceScores {...props} spanId={isTrace ? undefined : selected} />
          )
        ) : error !== undefined ? (
          <Problem error={error} again={loaded.error === undefined ? whole.again : loaded.again} />
        ) : body === undefined || (ofTrace !== undefined && whole.value === undefined) ? (
          <Waiting what={sizeOf(span)} />
        ) : current === 'messages' ? (
          <Conversations
            body={body}
            kind={kind}
            whole={whole.value}
            rendered={texts === 'rendered'}
            earlier={earlier}
            running={outline.trace.status === 'running'}
            CallParameters={later.part?.CallParameters}
          />
        ) : current === 'json' ? (
          <RawTexts body={body} kind={kind} whole={whole.value} />
        ) : current === 'events' ? (
          later.part === undefined ? (
            <Pending of={later} what="the events" />
          ) : (
            <later.part.Events body={body} zone={zone} />
          )
        ) : current === 'metadata' ? (
          <Fields text={metadata!.text} node={metadata!.metadata} label="Metadata" none="No metadata." />
        ) : (
          <>
            <CutNote body={body} half="attributes" />
            <Fields text={body.text} node={body.attributes} label="Attributes" none="No attributes." />
          </>
        )}
      </div>
    </section>
  )
}

/** Loads a body, if there is a path. Spans never change, but a trace's output and metadata may change. */
function useBody(path: string | undefined, version: string | number) {
  return useLoad(
    path && `${path}@${version}`,
    signal => loadBody(path!, version, signal),
    () => (path === undefined ? undefined : knownBody(path, version))
  )
}

function sizeOf(span: OutlineSpan | undefined): string {
  return span === undefined ? 'the trace' : formatBytes(span.inputBytes + span.outputBytes + span.attributesBytes)
}

function moveTab(event: KeyboardEvent): void {
  const tabs = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=tab]')]
  const at = tabs.indexOf(document.activeElement as HTMLElement)
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key]
  if (to === undefined || at === -1) return
  event.preventDefault()
  const tab = tabs[(to + tabs.length) % tabs.length]
  tab?.focus()
  tab?.click()
}

/** Larger conversations are not loaded only to find what the current call repeats. */
const EARLIER_BYTES = 800_000

/** Loads the previous model call. The current call may repeat that call's conversation. */
function useEarlier(slug: string, outline: Outline, span: OutlineSpan | undefined): EarlierCall | undefined {
  const at = span === undefined || span.kind !== 'llm' ? -1 : outline.spans.indexOf(span)
  const calls = outline.spans.slice(0, Math.max(0, at)).filter(({ kind }) => kind === 'llm')
  const before = calls.findLast(({ inputBytes }) => inputBytes > 2)
  const path =
    before === undefined || before.inputBytes > EARLIER_BYTES
      ? undefined
      : pathOfBody(slug, outline.trace.id, before.id)
  const { value } = useBody(path, 0)
  if (value === undefined || before === undefined) return undefined
  return { name: `call ${calls.indexOf(before) + 1} (${before.name})`, body: value }
}

/** Larger spans are fetched only when selected. */
const NEXT_BYTES = 300_000
const NEXT_MS = 400

/** Prefetches the next span, because users usually read it next. */
function useNext(slug: string, outline: Outline, span: OutlineSpan | undefined, ready: boolean): void {
  const next = span === undefined ? outline.spans[0] : outline.spans[outline.spans.indexOf(span) + 1]
  const bytes = next === undefined ? 0 : next.inputBytes + next.outputBytes + next.attributesBytes
  const path = next === undefined || bytes > NEXT_BYTES ? undefined : pathOfBody(slug, outline.trace.id, next.id)
  useEffect(() => {
    if (!ready || path === undefined) return
    const timer = setTimeout(() => loadBody(path, 0).catch(() => {}), NEXT_MS)
    return () => clearTimeout(timer)
  }, [path, ready])
}

interface FieldsProps {
  readonly text: string
  readonly node: Body['attributes']
  readonly label: string
  /** Shown if there are no fields. */
  readonly none: string
}

function Fields({ text, node, label, none }: FieldsProps) {
  if (node === undefined || countMembers(text, node) === 0) return <p class="soft">{none}</p>
  return <JsonView text={text} node={node} label={label} />
}

/** Maximum number of characters shown. Stack traces can have any length, and the Events section shows them in full. */
const MOST = 2000

/** Shows why a span failed, above everything else recorded for it. */
function FailureNote({ body }: { body: Body }) {
  const failure = shownFailureOf(body.text, body.attributes, body.events)
  if (failure === undefined) return null
  const { type, message } = failure
  return (
    <div class="failure" role="note" aria-label="Why it failed">
      <Icon name="error" />
      <p>
        {type !== '' && <b>{asLine(type, 120)}</b>}
        {type !== '' && message !== '' && ': '}
        <Plain text={cut(message, MOST)} />
        {message.length > MOST && '…'}
      </p>
    </div>
  )
}
