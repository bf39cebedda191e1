import { ApiError, at } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/navigation.ts'
import { preferences } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { ButtonLink, Icon } from '../ui/controls.tsx'
import { Problem, Waiting } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import { shortTime } from '../ui/time.ts'
import { TraceRowList } from '../ui/trace-rows.tsx'
import { EraseButton } from './erase-button.tsx'
import {
  DAYS_COUNTED,
  GroupFacts,
  GroupList,
  GroupTable,
  RangeChoice,
  readGroupQuery,
  writeGroupQuery
} from './group-list.tsx'

const NEWEST = '20'

export function UsersPage({ slug }: { slug: string }) {
  return <GroupList slug={slug} kind="users" />
}

export function UserView({ slug, userId }: { slug: string; userId: string }) {
  const { zone } = useStore(preferences)
  const { range } = readGroupQuery(usePlace().search)
  const asked = new URLSearchParams({ id: userId, range: range ?? '7d' })
  const { value: user, error, again } = useRead(at('p/:slug/user', { slug }, asked))
  const newest = useRead(at('p/:slug/traces', { slug }, new URLSearchParams({ userId, limit: NEWEST })))
  useArrival(user !== undefined)
  const isNowhere = error instanceof ApiError && error.status === 404
  const list = `${pathOf({ page: 'traces', slug })}?${new URLSearchParams({ user: userId, range: 'all' })}`
  return (
    <div class="session-page is-wide">
      <div class="head">
        <a class="back" href={pathOf({ page: 'users', slug })} data-returning={`g-${userId}`} title="To the users">
          <Icon name="left" /> <span>Users</span>
        </a>
        <h1 tabIndex={-1} title={userId}>
          {asLine(userId, 160)}
        </h1>
        <div class="head-end">
          <ButtonLink href={list}>All traces</ButtonLink>
          <EraseButton slug={slug} target={{ userId }} />
        </div>
      </div>
      {isNowhere ? (
        <p class="empty">This user has no traces in this project.</p>
      ) : error !== undefined ? (
        <Problem error={error} again={again} />
      ) : null}
      {user === undefined && error === undefined && <Waiting what="the user" />}
      {user !== undefined && (
        <>
          <div class="filters">
            <search class="is-open" aria-label="Period">
              <RangeChoice range={range} set={next => goSearch(writeGroupQuery({ range: next }))} />
            </search>
          </div>
          <p class="soft">The numbers cover this period. {DAYS_COUNTED}</p>
          <GroupFacts sums={user} byDay zone={zone} now={new Date()} />
          {user.countedFrom !== null && (
            <p class="soft">
              Traces are counted back to {shortTime(user.countedFrom, zone, new Date())} so far; older traces follow.
            </p>
          )}
          {user.sessions.length > 0 && (
            <>
              <h2>Sessions, with this user’s traces</h2>
              <GroupTable slug={slug} kind="sessions" groups={user.sessions} ofOneUser zone={zone} />
            </>
          )}
          <h2>Newest traces</h2>
          {newest.error !== undefined && <Problem error={newest.error} again={newest.again} />}
          {newest.value !== undefined && (
            <TraceRowList
              slug={slug}
              label="Newest traces"
              rows={newest.value.traces.map(trace => ({ key: trace.id, trace }))}
              zone={zone}
            />
          )}
        </>
      )}
    </div>
  )
}
