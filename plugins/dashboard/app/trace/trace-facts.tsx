/** A trace's totals and fields. Each field links to the traces that share it. */
import { metadataLeaves } from '../content/metadata-leaves.ts'
import type { ShownTotals } from '../content/span-sums.ts'
import type { Outline } from '../contract.ts'
import { type Filter, narrowed, readQuery, writeQuery } from '../state/list-query.ts'
import { preferences } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { Icon, LinkButton } from '../ui/controls.tsx'
import { Fact } from '../ui/facts.tsx'
import { formatCost, formatCount, formatCounted, formatDuration, knowsParts, NONE } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'
import { ago, fullTime, shortTime, type Zone } from '../ui/time.ts'
import { silenceOf } from './opening.ts'

const SUM = 'Sum of its steps. The trace itself reports no value.'

interface Props {
  readonly slug: string
  readonly outline: Outline
  readonly totals: ShownTotals
  readonly zone: Zone
  readonly now: number
  /** Opens the trace's details. */
  about(): void
}

export function TraceFacts({ slug, outline, totals, zone, now, about }: Props) {
  const { trace, spans } = outline
  const { usage, costUsd, model, fromSteps } = totals
  const isRunning = trace.status === 'running'
  const silent = silenceOf(outline, now)
  const isComputed = spans.some(({ computedCost }) => computedCost !== null)
  return (
    <dl class="trace-facts">
      <Fact name="Duration">
        {isRunning ? (
          <>
            <span title="Still running">{formatDuration(wholeSeconds(now - Date.parse(trace.startedAt)))} so far</span>
            {silent !== undefined && (
              <small class="is-silent" title="The application may have stopped without ending the trace.">
                {' '}
                no new step for {formatDuration(wholeSeconds(silent))}
              </small>
            )}
          </>
        ) : (
          formatDuration(trace.durationMs)
        )}
      </Fact>
      <Fact name="Tokens">
        {usage.totalTokens === 0 ? NONE : formatCount(usage.totalTokens)}{' '}
        {knowsParts(usage) && (
          <small>
            {formatCount(usage.inputTokens)} in, {formatCount(usage.outputTokens)} out
          </small>
        )}
        {fromSteps.has('usage') && <FromSteps />}
      </Fact>
      <Fact name="Cost">
        {formatCost(costUsd)}
        {costUsd !== null && isComputed && (
          <small title="Computed from tokens for steps that report no cost"> computed</small>
        )}
        {fromSteps.has('cost') && <FromSteps />}
      </Fact>
      <Fact name="Started">
        <time dateTime={trace.startedAt} title={`${fullTime(trace.startedAt, zone)}, ${ago(trace.startedAt, now)}`}>
          {shortTime(trace.startedAt, zone, new Date(now))}
        </time>
      </Fact>
      {fromSteps.has('model') && model !== null ? (
        <Fact name="Model">
          <span title="Most frequent model of its steps. The trace itself names none.">{asLine(model, 60)}</span>
        </Fact>
      ) : (
        <Way slug={slug} name="Model" filter="model" value={model} />
      )}
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
      <ChosenMetadata slug={slug} trace={trace} about={about} />
    </dl>
  )
}

const FromSteps = () => <small title={SUM}> · sum of steps</small>

const wholeSeconds = (ms: number): number => Math.max(0, Math.floor(ms / 1000) * 1000)

/** The metadata values that the visitor selected, and a link to the others. */
function ChosenMetadata({ slug, trace, about }: { slug: string; trace: Outline['trace']; about(): void }) {
  const { metadata: chosen } = useStore(preferences)
  const leaves = metadataLeaves(trace.metadata)
  const names = chosen[slug] ?? []
  const shown = leaves.filter(({ name }) => names.includes(name))
  const others = leaves.length - shown.length
  return (
    <>
      {shown.map(({ name, value }) => (
        <Fact key={name} name={asLine(name, 40)}>
          <span title={value.slice(0, 1000)}>{asLine(value, 60)}</span>
        </Fact>
      ))}
      <div>
        <dt class="unseen">Metadata</dt>
        <dd>
          <LinkButton onClick={about}>
            {others === 0 ? 'Details' : `${formatCounted(others, shown.length > 0 ? 'more value' : 'metadata value')}`}
          </LinkButton>
        </dd>
      </div>
    </>
  )
}

function addressOf(slug: string, filter: Filter, value: string): string {
  return `${pathOf({ page: 'traces', slug })}${writeQuery(narrowed(readQuery('?range=all'), { [filter]: value }))}`
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
