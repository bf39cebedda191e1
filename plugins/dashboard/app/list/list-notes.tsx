/** Notes above the list: how far a search got, what the search index lacks, and which traces the order leaves out. */
import { useState } from 'preact/hooks'
import type { TracePage } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { firstPage, type ListQuery, toServer, writeQuery } from '../state/list-query.ts'
import { useInterval, useLoad } from '../state/load.ts'
import { presentTime } from '../state/preferences.ts'
import { LinkButton } from '../ui/controls.tsx'
import { formatCost, formatCount, formatCounted, formatDuration } from '../ui/format.ts'
import { shortTime, type Zone } from '../ui/time.ts'
import { SORT_NAMES } from './trace-table.tsx'
import { unlistedBy } from './unlisted.ts'

interface Props {
  readonly slug: string
  readonly page: TracePage
  readonly query: ListQuery
  readonly zone: Zone
  /** Address of the list, without query string. */
  readonly base: string
  /** Repeats the search. The current page stays until the response arrives. */
  refresh(): void
}

export function ListNotes(props: Props) {
  const { page, query, zone } = props
  const lack = page.index === null ? '' : lackOf(page.index, zone)
  return (
    <>
      {(page.reached !== null || lack !== '') && (
        <p class="soft far">
          <HowFar {...props} />
          {lack !== '' && <Indexing {...props} lack={lack} />}
        </p>
      )}
      {query.sort !== 'newest' && <Order {...props} />}
    </>
  )
}

/** Shows how far a search got, if it stopped early. */
function HowFar({ page, query, zone, base }: Props) {
  const { reached, nextCursor, examined, traces } = page
  if (reached === null) return null
  const isUp = query.before !== undefined
  const place =
    typeof reached === 'string'
      ? `${isUp ? 'up' : 'back'} to ${shortTime(reached, zone, new Date())}`
      : `down to ${query.sort === 'costliest' ? formatCost(reached) : formatDuration(reached)}`
  const searched = formatCounted(examined, 'trace')
  return (
    <>
      {traces.length === 0
        ? `No matches in the ${searched} searched so far, ${place}. `
        : `Searched ${searched}, ${place}. `}
      {nextCursor !== null && !isUp && (
        <a href={`${base}${writeQuery({ ...firstPage(query), after: nextCursor })}`}>Keep searching</a>
      )}{' '}
    </>
  )
}

/** Intervals at which the state of the index is read: the first dozen times, and later. Finally, the visitor asks. */
const OFTEN_MS = 5000
const SELDOM_MS = 15_000
const MOST = { often: 12, all: 60 }

/** Shows what the index lacks, and repeats the search whenever the index has grown, until it is complete. */
function Indexing({ slug, zone, lack, refresh }: Props & { readonly lack: string }) {
  const [polls, setPolls] = useState(0)
  useInterval(polls < MOST.often ? OFTEN_MS : polls < MOST.all ? SELDOM_MS : 0, async () => {
    setPolls(polls + 1)
    // Errors are shown only when the list itself is loaded.
    const index = await read(at('p/:slug', { slug })).then(
      ({ search }) => search,
      () => null
    )
    if (index !== null && lackOf(index, zone) !== lack) refresh()
  })
  return (
    <>
      {lack}{' '}
      {polls < MOST.all ? 'This list updates automatically.' : <LinkButton onClick={refresh}>Search again</LinkButton>}
    </>
  )
}

/** Minimum number of unindexed traces for which a notice is shown. Fewer traces take only a second or two to index. */
const MANY_WAITING = 1000

function lackOf({ backTo, isFilled, waiting, partlyIndexed }: NonNullable<TracePage['index']>, zone: Zone): string {
  const day = (iso: string) => shortTime(iso, zone, new Date())
  return [
    waiting >= MANY_WAITING && 'The search index is behind, so the newest traces are not included yet.',
    !isFilled && `${backTo === null ? 'Earlier traces' : `Traces before ${day(backTo)}`} are still being indexed.`,
    partlyIndexed > 0 &&
      `Errors, tool calls and metadata of ${formatCounted(partlyIndexed, 'trace')} are still being indexed.`
  ]
    .filter(Boolean)
    .join(' ')
}

/**
 * Names the order, and says that it leaves traces out, with their number if it can be counted. The order is named so
 * that the line has its place before the number arrives.
 */
function Order({ slug, query, base }: Props) {
  const unlisted = unlistedBy(query)
  const asked = unlisted && { ...unlisted, cols: [] }
  const { value, error } = useLoad(asked && `unlisted ${slug} ${writeQuery(asked)}`, signal =>
    read(at('p/:slug/trace-count', { slug }, toServer(asked!, presentTime())), { signal })
  )
  const isKnown = value !== undefined ? value.traces > 0 || value.isMore : error !== undefined
  return (
    <p class="soft far" role="status">
      {`${capitalised(SORT_NAMES[query.sort])}. `}
      {unlisted !== undefined && isKnown && (
        <>
          {unlistedText(query.sort === 'costliest', value)} <a href={`${base}${writeQuery(unlisted)}`}>Show them</a>
        </>
      )}
    </p>
  )
}

function unlistedText(isByCost: boolean, count: { traces: number; isMore: boolean } | undefined): string {
  const { traces = 0, isMore = false } = count ?? {}
  const some = traces === 0 ? '' : `${formatCount(traces)}${isMore ? '+' : ''} `
  const [noun, verb, own] = traces === 1 && !isMore ? ['trace', 'is', 'its'] : ['traces', 'are', 'their']
  return capitalised(
    isByCost
      ? `${some}${noun} without a cost of ${own} own ${verb} not listed.`
      : `${some}running ${noun} ${verb} not listed.`
  )
}

const capitalised = (text: string): string => text.replace(/^./, first => first.toUpperCase())
