/** Shows which traces the numbers cover (ended ones, how far back, which days) and the stored volume. */

import { stepsBetween } from '../charts/series.ts'
import type { ProjectAnswer, SeriesAnswer } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { type ListQuery, narrowed, withTime, writeQuery } from '../state/list-query.ts'
import { useLoad } from '../state/load.ts'
import { pathOf } from '../state/route.ts'
import { formatBytes, formatCount, formatLimit, formatPercent } from '../ui/format.ts'
import { fullTime, offsetName, offsetOf, shortTime, type Zone, zoneName } from '../ui/time.ts'

interface Props {
  readonly slug: string
  readonly answer: SeriesAnswer
  readonly query: ListQuery
  readonly zone: Zone
  readonly list: string
}

export function Coverage({ slug, answer, query, zone, list }: Props) {
  const path = at('p/:slug', { slug })
  const stored = useLoad(path, signal => read(path, { signal })).value
  const { running, countedFrom, step, offset, before, from } = answer
  const times = zone === 'utc' ? 'Times are UTC' : `Times are local, ${offsetName(new Date())}`
  return (
    <p class="overview-facts">
      <span>Traces that have ended, by when they started.</span>
      {running > 0 && (
        <a href={`${list}${writeQuery(narrowed(withTime(query, stepsBetween(answer)), { status: 'running' }))}`}>
          {formatCount(running)} running
        </a>
      )}
      {before !== null && (
        <span>
          {before.traces === 0 ? 'There is nothing of the period before.' : '± is against the period before.'}
        </span>
      )}
      <span>
        {step === 'day' && offset !== offsetOf(zone) ? `${times}; days are those of ${zoneName(offset)}.` : `${times}.`}
      </span>
      {countedFrom !== null && Date.parse(countedFrom) > Date.parse(from) && (
        <b title="What is older is still being counted">
          Counted back to{' '}
          <time dateTime={countedFrom} title={fullTime(countedFrom, zone)}>
            {shortTime(countedFrom, zone, new Date())}
          </time>
        </b>
      )}
      {stored !== undefined && <Storage project={stored} />}
    </p>
  )
}

function Storage({ project }: { project: ProjectAnswer }) {
  const { slug, estimatedBytes, storage } = project
  const { limitBytes, level } = storage
  const share = limitBytes === 0 ? 1 : estimatedBytes / limitBytes
  return (
    <a class={level === 'ok' ? 'stored' : 'stored is-error'} href={pathOf({ page: 'settings', slug, tab: 'project' })}>
      {formatBytes(estimatedBytes)} of {formatLimit(limitBytes)} stored ({formatPercent(share)})
      {level !== 'ok' && <b>: {level === 'critical' ? 'full' : 'nearly full'}</b>}
    </a>
  )
}
