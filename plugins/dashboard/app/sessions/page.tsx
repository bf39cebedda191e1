import { useLayoutEffect } from 'preact/hooks'
import { ApiError, at } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import { useArrival } from '../state/navigation.ts'
import { preferences } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { ButtonLink, Icon } from '../ui/controls.tsx'
import { Fact } from '../ui/facts.tsx'
import { formatCount, formatDuration } from '../ui/format.ts'
import { Problem } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import { ConversationView, useConversation } from './conversation-view.tsx'
import { EraseButton } from './erase-button.tsx'
import { GroupFacts, GroupList } from './group-list.tsx'

export function SessionsPage({ slug }: { slug: string }) {
  return <GroupList slug={slug} kind="sessions" />
}

export function SessionView({ slug, sessionId }: { slug: string; sessionId: string }) {
  const { zone } = useStore(preferences)
  const query = new URLSearchParams({ id: sessionId })
  const { value: sums, error, again } = useRead(at('p/:slug/session', { slug }, query))
  const loading = useConversation(slug, sessionId)
  const { loaded } = loading
  useArrival(loaded !== undefined)
  useLayoutEffect(() => {
    // The URL's fragment may identify one of the traces.
    if (loaded !== undefined && location.hash !== '')
      document.getElementById(`t-${location.hash.slice(1)}`)?.scrollIntoView()
  }, [loaded !== undefined])
  const isNowhere = error instanceof ApiError && error.status === 404
  return (
    <div class="session-page">
      <div class="head">
        <a
          class="back"
          href={pathOf({ page: 'sessions', slug })}
          data-returning={`g-${sessionId}`}
          title="Back to sessions"
        >
          <Icon name="left" /> <span>Sessions</span>
        </a>
        <h1 tabIndex={-1} title={sessionId}>
          {asLine(sessionId, 160)}
        </h1>
        <div class="head-end">
          <ButtonLink
            href={`${pathOf({ page: 'traces', slug })}?${new URLSearchParams({ session: sessionId, range: 'all' })}`}
          >
            View as list
          </ButtonLink>
          {sums !== undefined && <EraseButton slug={slug} target={{ sessionId }} />}
        </div>
      </div>
      {isNowhere ? (
        <p class="empty">This project has no traces in this session.</p>
      ) : error !== undefined ? (
        <Problem error={error} again={again} />
      ) : null}
      {sums !== undefined && (
        <GroupFacts sums={sums} running={sums.running} zone={zone} now={new Date()}>
          <Fact name="Active time">{formatDuration(sums.durationMs)}</Fact>
          {sums.users.length > 0 && (
            <Fact name={sums.users.length === 1 ? 'User' : 'Users'}>
              {sums.users.map((user, i) => (
                <span key={user}>
                  {i > 0 && ', '}
                  <a href={pathOf({ page: 'user', slug, userId: user })}>{asLine(user, 60)}</a>
                </span>
              ))}
            </Fact>
          )}
          {sums.newest !== null && <Fact name="Totals cover">the newest {formatCount(sums.newest)} traces</Fact>}
        </GroupFacts>
      )}
      {!isNowhere && <ConversationView slug={slug} loading={loading} zone={zone} />}
    </div>
  )
}
