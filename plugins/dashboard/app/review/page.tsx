/** A review: the traces of any search, one after another, each judged with a single key. */

import { useMemo, useState } from 'preact/hooks'
import { at, read, write } from '../state/api.ts'
import {
  firstPage,
  ignoredParameters,
  type ListQuery,
  readQuery,
  toServer,
  withTime,
  writeQuery
} from '../state/list-query.ts'
import { useLoad, useRead } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/navigation.ts'
import { prefer, preferences, presentTime } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { describeValues, type ScoreKind, scoreKinds } from '../state/score-kinds.ts'
import { may } from '../state/session.ts'
import { describeQuery } from '../state/views.ts'
import { IgnoredParameters } from '../ui/ignored-parameters.tsx'
import { Problem, Waiting } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import { TimeMenu } from '../ui/time-menu.tsx'
import { type ClaimTrace, Judge } from './judge.tsx'
import { newQueue } from './queue.ts'

/** Maximum number of traces in a review. */
const MOST_TRACES = 500

/** Loads the traces of a review, without those that are judged already. Running traces come last. */
async function loadQueue(slug: string, query: URLSearchParams, signal: AbortSignal) {
  const ended: string[] = []
  const running: string[] = []
  let before = 0
  let after: string | null = null
  do {
    const page = new URLSearchParams(query)
    page.set('limit', '100')
    if (after !== null) page.set('after', after)
    const answer: Awaited<ReturnType<typeof readPage>> = await readPage(slug, page, signal)
    for (const { id, isJudged, isRunning } of answer.traces) {
      if (isJudged) before++
      else (isRunning ? running : ended).push(id)
    }
    after = answer.nextCursor
  } while (after !== null && ended.length + running.length < MOST_TRACES)
  const ids = [...ended, ...running]
  return { queue: newQueue(ids.slice(0, MOST_TRACES)), before, isMore: after !== null || ids.length > MOST_TRACES }
}

const readPage = (slug: string, query: URLSearchParams, signal: AbortSignal) =>
  read(at('p/:slug/review', { slug }, query), { signal })

export function ReviewPage({ slug }: { slug: string }) {
  const { search } = usePlace()
  const definitions = useRead(at('p/:slug/score-definitions', { slug }))
  const names = useRead(at('p/:slug/score-names', { slug }))
  const error = definitions.error ?? names.error
  const [defined, known] = [definitions.value?.definitions, names.value]
  const kinds = useMemo(
    () => (defined === undefined || known === undefined ? undefined : scoreKinds(defined, known)),
    [defined, known]
  )
  const parameters = new URLSearchParams(search)
  const judged = parameters.get('judge')
  parameters.delete('judge')
  const given = `?${parameters}`
  const query = readQuery(given)
  const ignored = ignoredParameters(given)
  const wanted = judged ?? preferences.get().scoreName
  const kind = kinds?.find(({ name }) => name === wanted) ?? kinds?.[0]
  useArrival(kinds !== undefined || error !== undefined)
  const change = (next: ListQuery, name = judged) => {
    const address = new URLSearchParams(writeQuery(next))
    if (name !== null) address.set('judge', name)
    goSearch(`?${address}`, { replace: true })
  }
  // The time has a menu of its own.
  const filters = writeQuery(withTime(query, {}))
  return (
    <div class="review">
      <header class="review-head">
        <h1 tabIndex={-1}>Review</h1>
        {kinds !== undefined && kind !== undefined && (
          <label>
            Score{' '}
            <select
              value={kind.name}
              onChange={event => {
                prefer({ scoreName: event.currentTarget.value })
                change(query, event.currentTarget.value)
                // The keys of the values work outside the field only.
                event.currentTarget.blur()
              }}
            >
              {kinds.map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        {kind !== undefined && <span class="soft">{asLine(describeValues(kind), 200)}</span>}
        <TimeMenu query={query} change={change} />
        {filters !== '' && <p class="soft">{asLine(describeQuery(filters), 200)}</p>}
      </header>
      <IgnoredParameters names={ignored} />
      {error !== undefined ? (
        <Problem
          error={error}
          again={() => {
            definitions.again()
            names.again()
          }}
        />
      ) : kinds === undefined ? (
        <Waiting what="the scores" />
      ) : kind === undefined ? (
        <p>
          This project has no scores yet. Define one in{' '}
          <a href={pathOf({ page: 'settings', slug, tab: 'scores' })}>Settings</a> to start a review.
        </p>
      ) : !may(slug, 'member') ? (
        <p>Only members and owners can score traces.</p>
      ) : (
        <Reviewing key={`${kind.name} ${writeQuery(query)}`} slug={slug} kind={kind} query={query} />
      )}
    </div>
  )
}

function Reviewing({ slug, kind, query }: { slug: string; kind: ScoreKind; query: ListQuery }) {
  // The queue is loaded once, so that its traces stay the same while new traces arrive.
  const [started] = useState(presentTime)
  const asked = new URLSearchParams(toServer(firstPage(query), started))
  asked.set('judge', kind.name)
  const loaded = useLoad(`review ${started.now}`, signal => loadQueue(slug, asked, signal))
  if (loaded.error !== undefined) return <Problem error={loaded.error} again={loaded.again} />
  if (loaded.value === undefined) return <Waiting what="the traces" />
  const { queue, before, isMore } = loaded.value
  if (queue.ids.length === 0) {
    return (
      <p>
        {before === 0 ? 'No traces match these filters.' : 'All matching traces already have this score.'}{' '}
        <a href={pathOf({ page: 'traces', slug })}>Back to traces</a>
      </p>
    )
  }
  return <Judge slug={slug} kind={kind} start={queue} isMore={isMore} claim={claimWith(slug, kind.name)} />
}

/** Leases the first of these traces that nobody else is judging, or has judged. */
const claimWith =
  (slug: string, judge: string): ClaimTrace =>
  traceIds =>
    write('POST', at('p/:slug/review/claims', { slug }), { body: { judge, traceIds } })
