import { ApiError, at, read } from '../state/api.ts'
import { useLoad, useRead } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/navigation.ts'
import { otherParameters } from '../state/other-parameters.ts'
import { preferences } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { Button, ButtonLink, Icon } from '../ui/controls.tsx'
import { ChosenFilter } from '../ui/filter-bar.tsx'
import { IgnoredParameters } from '../ui/ignored-parameters.tsx'
import { Problem, Waiting } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import { shortTime } from '../ui/time.ts'
import { TraceRowList } from '../ui/trace-rows.tsx'
import { EraseButton } from './erase-button.tsx'
import {
  DAYS_COUNTED,
  GroupFacts,
  GroupList,
  type GroupQuery,
  GroupTable,
  RangeChoice,
  readGroupQuery,
  writeGroupQuery
} from './group-list.tsx'

const NEWEST = '20'

type Period = Pick<GroupQuery, 'range' | 'env'>

export function UsersPage({ slug }: { slug: string }) {
  return <GroupList slug={slug} kind="users" />
}

export function UserView({ slug, userId }: { slug: string; userId: string }) {
  const { zone } = useStore(preferences)
  const { search } = usePlace()
  const { range, env } = readGroupQuery(search)
  const change = (next: Period) => goSearch(writeGroupQuery({ range, env, ...next }))
  const asked = new URLSearchParams({ id: userId, range: range ?? '7d', ...(env && { env }) })
  const { value: user, error, again } = useRead(at('p/:slug/user', { slug }, asked))
  const own = (from: string) => new URLSearchParams({ userId, from, ...(env && { environment: env }), limit: NEWEST })
  const newest = useLoad(user && `${slug} ${own(user.from)}`, signal =>
    read(at('p/:slug/traces', { slug }, own(user!.from)), { signal })
  )
  const facets = useRead(at('p/:slug/facets', { slug })).value
  useArrival(user !== undefined)
  const isNowhere = error instanceof ApiError && error.status === 404
  const list = `${pathOf({ page: 'traces', slug })}?${new URLSearchParams({ user: userId, range: 'all' })}`
  return (
    <div class="session-page is-wide">
      <div class="head">
        <a class="back" href={pathOf({ page: 'users', slug })} data-returning={`g-${userId}`} title="Back to users">
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
        <div class="empty">
          <h2>This user has no traces in {env === undefined ? 'this project' : 'this environment'}</h2>
          {env !== undefined && (
            <p class="empty-acts">
              <Button onClick={() => change({ env: undefined })}>Show all environments</Button>
            </p>
          )}
        </div>
      ) : error !== undefined ? (
        <Problem error={error} again={again} />
      ) : null}
      {user === undefined && error === undefined && <Waiting what="the user" />}
      {user !== undefined && (
        <>
          <div class="filters">
            <search class="is-open" aria-label="Filter this user’s traces">
              <ChosenFilter
                label="Environment"
                value={env}
                values={[...(facets?.environments ?? []), env]}
                set={env => change({ env })}
              />
              <RangeChoice range={range} set={range => change({ range })} />
            </search>
          </div>
          <IgnoredParameters names={otherParameters(search, ['range', 'env'])} />
          <p class="soft">
            The numbers and lists cover this period{env !== undefined && ' and environment'}. {DAYS_COUNTED}
          </p>
          <GroupFacts sums={user} byDay zone={zone} now={new Date()} />
          {user.countedFrom !== null && (
            <p class="soft">
              Older traces are still being counted: the numbers start at {shortTime(user.countedFrom, zone, new Date())}
              .
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
          {newest.value?.traces.length === 0 && <p class="soft">No traces in this period.</p>}
          {newest.value !== undefined && newest.value.traces.length > 0 && (
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
