/** Shows everything recorded for a span or for the trace itself. */

import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { type Body, conversationOf, knownBody, loadBody, pathOfBody, TRACE_ROW } from '../content/bodies.ts'
import { countMembers, type JsonNode, memberAt, membersOf, readString, sourceOf } from '../content/json-text.ts'
import { JsonView } from '../content/json-view.tsx'
import { foldedCount } from '../content/message.ts'
import { Messages } from '../content/messages-view.tsx'
import { Plain } from '../content/text-view.tsx'
import type { Outline, OutlineSpan } from '../contract.ts'
import { useLoad } from '../state/load.ts'
import { prefer, preferences } from '../state/preferences.ts'
import { useStore } from '../state/store.ts'
import { Icon, StatusIcon } from '../ui/controls.tsx'
import { Moment } from '../ui/facts.tsx'
import { formatBytes, formatCost, formatCount, formatDuration, knowsParts, NONE } from '../ui/format.ts'
import { Problem, Waiting } from '../ui/problem.tsx'
import { asLine, cut } from '../ui/text.ts'
import { clockTime, type Zone } from '../ui/time.ts'
import { shownFailureOf } from './failure.ts'
import { TraceScores } from './scores.tsx'

export const TABS = ['messages', 'json', 'attributes', 'events', 'scores'] as const
export type Tab = (typeof TABS)[number]

interface Props {
  readonly slug: string
  readonly outline: Outline
  readonly selected: string
  readonly tab: Tab
  readonly zone: Zone
  setTab(tab: Tab): void
  select(key: string): void
  annotate(): void
  changed(): void
}

export function SpanPanel(props: Props) {
  const { slug, outline, selected, tab, zone, setTab } = props
  const span = outline.spans.find(({ id }) => id === selected)
  const isTrace = selected === TRACE_ROW
  const { texts } = useStore(preferences)
  const path = isTrace || span !== undefined ? pathOfBody(slug, outline.trace.id, selected) : undefined
  // Spans never change, but a trace's output and metadata may change.
  const version = isTrace ? outline.version : 0
  const loaded = useLoad(
    path && `${path}@${version}`,
    signal => loadBody(path!, version, signal),
    () => (path === undefined ? undefined : knownBody(path, version))
  )
  const earlier = useEarlier(slug, outline, span)
  useNext(slug, outline, span, loaded.value !== undefined)
  if (path === undefined) {
    return (
      <section class="panel" aria-label="Span">
        <p class="soft">The span that these belong to was not recorded, or has not come yet.</p>
      </section>
    )
  }
  const scores = outline.scores.filter(score => (isTrace ? true : score.spanId === selected)).length
  const labels: Record<Tab, string> = {
    messages: 'Messages',
    json: 'JSON',
    attributes: isTrace ? `Metadata ${Object.keys(outline.trace.metadata).length || ''}` : 'Attributes',
    events: `Events ${span?.eventCount || ''}`,
    scores: `Scores ${scores || ''}`
  }
  const tabs = TABS.filter(each => !(isTrace && each === 'events'))
  const current = tabs.includes(tab) ? tab : 'messages'
  const body = loaded.value
  return (
    <section class="panel" aria-label={isTrace ? 'Trace' : 'Span'}>
      <PanelHead outline={outline} span={span} zone={zone} />
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
                {each === 'rendered' ? 'Markdown' : 'Text'}
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
          <TraceScores {...props} spanId={isTrace ? undefined : selected} />
        ) : loaded.error !== undefined ? (
          <Problem error={loaded.error} again={loaded.again} />
        ) : body === undefined ? (
          <Waiting what={sizeOf(span)} />
        ) : current === 'messages' ? (
          <Conversations
            body={body}
            rendered={texts === 'rendered'}
            earlier={earlier}
            running={outline.trace.status === 'running'}
          />
        ) : current === 'json' ? (
          <Raw body={body} />
        ) : current === 'events' ? (
          <Events body={body} zone={zone} />
        ) : (
          <Attributes body={body} isTrace={isTrace} />
        )}
      </div>
    </section>
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

/** The previous model call, if already loaded or small. The current call may repeat that call's conversation. */
interface Earlier {
  readonly name: string
  readonly body: Body
}
const EARLIER_BYTES = 800_000

function useEarlier(slug: string, outline: Outline, span: OutlineSpan | undefined): Earlier | undefined {
  const at = span === undefined || span.kind !== 'llm' ? -1 : outline.spans.indexOf(span)
  const before = outline.spans
    .slice(0, Math.max(0, at))
    .findLast(({ kind, inputBytes }) => kind === 'llm' && inputBytes > 2)
  const path =
    before === undefined || before.inputBytes > EARLIER_BYTES
      ? undefined
      : pathOfBody(slug, outline.trace.id, before.id)
  const { value } = useLoad(
    path && `earlier ${path}`,
    signal => loadBody(path!, 0, signal),
    () => (path === undefined ? undefined : knownBody(path, 0))
  )
  return value === undefined || before === undefined ? undefined : { name: before.name, body: value }
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

function PanelHead({ outline, span, zone }: { outline: Outline; span: OutlineSpan | undefined; zone: Zone }) {
  const { trace } = outline
  const shown = span ?? trace
  const usage = shown.usage
  const facts = [
    shown.durationMs === null ? undefined : formatDuration(shown.durationMs),
    shown.model === null ? undefined : asLine(shown.model, 60),
    shown.provider === null ? undefined : asLine(shown.provider, 60),
    usage === null || usage.totalTokens === 0
      ? undefined
      : knowsParts(usage)
        ? `${formatCount(usage.inputTokens)} in, ${formatCount(usage.outputTokens)} out`
        : `${formatCount(usage.totalTokens)} tokens`,
    shown.costUsd === null ? undefined : formatCost(shown.costUsd)
  ].filter(fact => fact !== undefined)
  return (
    <header class="panel-head">
      <h2>
        <span class="clip" title={shown.name}>
          {asLine(shown.name, 200)}
        </span>
        <span class={`kind is-${span?.kind ?? 'trace'}`}>{span?.kind ?? 'trace'}</span>
        <StatusIcon status={shown.status} />
      </h2>
      <p class="facts">
        {facts.map(fact => (
          <span key={fact}>{fact}</span>
        ))}
        {span?.computedCost && <span class="soft">{describeComputed(span.computedCost)}</span>}
        <Moment iso={shown.startedAt} zone={zone} text={clockTime(shown.startedAt, zone, true)} />
      </p>
    </header>
  )
}

function describeComputed({ model, prices }: NonNullable<OutlineSpan['computedCost']>): string {
  const of = prices === 'own' ? 'your prices' : `prices of ${prices}`
  return `computed from tokens, ${of} for ${asLine(model, 60)}`
}

interface ConversationsProps {
  readonly body: Body
  readonly rendered: boolean
  readonly earlier: Earlier | undefined
  readonly running: boolean
}

function Conversations({ body, rendered, earlier, running }: ConversationsProps) {
  const { input, output } = conversationOf(body)
  const before = earlier && conversationOf(earlier.body).input
  const folded = input !== undefined && before !== undefined ? foldedCount(before, input) : 0
  const none = body.input === undefined && body.output === undefined
  if (none) return <p class="soft">{running ? 'Nothing has come yet.' : 'Neither input nor output was recorded.'}</p>
  return (
    <>
      <Half title="Input" text={body.text} node={body.input}>
        {input && <Messages messages={input} rendered={rendered} folded={folded} earlier={earlier?.name ?? ''} />}
      </Half>
      <Half title="Output" text={body.text} node={body.output}>
        {output && <Messages messages={output} rendered={rendered} />}
      </Half>
    </>
  )
}

interface HalfProps {
  readonly title: string
  readonly text: string
  readonly node: JsonNode | undefined
  /** If undefined, the value is shown as JSON. */
  readonly children?: ComponentChildren
}

function Half({ title, text, node, children }: HalfProps) {
  return (
    <section class="half">
      <h3>{title}</h3>
      {node === undefined ? (
        <p class="soft">{NONE}</p>
      ) : (
        (children ?? <JsonView text={text} node={node} label={title} />)
      )}
    </section>
  )
}

function Raw({ body }: { body: Body }) {
  return (
    <>
      <Half title="Input" text={body.text} node={body.input} />
      <Half title="Output" text={body.text} node={body.output} />
    </>
  )
}

function Attributes({ body, isTrace }: { body: Body; isTrace: boolean }) {
  const node = isTrace ? body.metadata : body.attributes
  if (node === undefined || countMembers(body.text, node) === 0) {
    return <p class="soft">{isTrace ? 'No metadata.' : 'No attributes.'}</p>
  }
  return <JsonView text={body.text} node={node} label={isTrace ? 'Metadata' : 'Attributes'} />
}

function Events({ body, zone }: { body: Body; zone: Zone }) {
  const { text, events } = body
  const members = events === undefined ? [] : membersOf(text, events)
  if (events === undefined || members.length === 0) return <p class="soft">No events.</p>
  return (
    <ol class="events">
      {members.map(({ index, node }) => {
        const [name, at, attributes] = ['name', 'timestamp', 'attributes'].map(key => memberAt(text, node, key))
        const iso = at?.kind === 'string' ? readString(text, at) : undefined
        const isEmpty = attributes === undefined || attributes.kind !== 'object' || countMembers(text, attributes) === 0
        return (
          <li key={index}>
            <p>
              {iso !== undefined && <Moment iso={iso} zone={zone} text={clockTime(iso, zone, true)} />}{' '}
              <b>
                {name === undefined
                  ? ''
                  : asLine(name.kind === 'string' ? readString(text, name) : sourceOf(text, name), 200)}
              </b>
            </p>
            {!isEmpty && <JsonView text={text} node={attributes!} label="Attributes of the event" />}
          </li>
        )
      })}
    </ol>
  )
}

/** Highlights matches in a panel with the CSS Custom Highlight API, and scrolls to the first match. */
export function useHighlights(find: ((text: string) => [number, number][]) | undefined, key: string): void {
  useEffect(() => {
    const registry = (CSS as { highlights?: Map<string, unknown> }).highlights
    if (registry === undefined || find === undefined) return
    let stopped = false
    const mark = () => {
      const panel = document.getElementById('tab-panel')
      if (panel === null || stopped) return
      const ranges: Range[] = []
      const walker = document.createTreeWalker(panel, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node !== null && ranges.length < 500; node = walker.nextNode()) {
        for (const [start, end] of find(node.nodeValue ?? '')) {
          const range = document.createRange()
          range.setStart(node, start)
          range.setEnd(node, end)
          ranges.push(range)
        }
      }
      registry.set('found', new Highlight(...ranges))
      ranges[0]?.startContainer.parentElement?.scrollIntoView({ block: 'center' })
    }
    // Delayed until the panel is rendered.
    const timer = setTimeout(mark, 60)
    return () => {
      stopped = true
      clearTimeout(timer)
      registry.delete('found')
    }
  }, [find, key])
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
