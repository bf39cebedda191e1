/** Starts the dashboard and shows the current page, after a sign-in if required. */
import { type ComponentChildren, render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ListPage } from './list/page.tsx'
import { FindPage } from './shell/find-page.tsx'
import { loadSignIn, Shell } from './shell/shell.tsx'
import { styled, usePart } from './state/lazy-part.ts'
import { go, usePlace } from './state/navigation.ts'
import { prefer, preferences } from './state/preferences.ts'
import { type Page, pathOf, readPath } from './state/route.ts'
import { loadSession, projectOf, session } from './state/session.ts'
import { useStore } from './state/store.ts'
import { Problem, Waiting } from './ui/problem.tsx'

/** Pages that load on first use. All except the sign-in page and the trace page also load pages.css. */
const LATER = {
  trace: () => import('./trace/page.tsx'),
  settings: () => styled(import('./settings/page.tsx')),
  overview: () => styled(import('./overview/page.tsx')),
  errors: () => styled(import('./errors/page.tsx')),
  steps: () => styled(import('./steps/page.tsx')),
  groups: () => styled(import('./groups/page.tsx')),
  sessions: () => styled(import('./sessions/page.tsx')),
  users: () => styled(import('./sessions/users-page.tsx')),
  scores: () => styled(import('./scores/page.tsx')),
  compare: () => styled(import('./compare/page.tsx')),
  review: () => styled(import('./review/page.tsx')),
  shared: () => styled(import('./shared/page.tsx'))
}

interface LaterProps<T> {
  readonly load: () => Promise<T>
  readonly what: string
  readonly draw: (part: T) => ComponentChildren
}

function Later<T>({ load, what, draw }: LaterProps<T>) {
  const { part, error, again } = usePart(load)
  if (error !== undefined) return <Problem error={error} again={again} />
  return part === undefined ? <Waiting what={what} /> : draw(part)
}

/** Draws a page once its part is loaded. */
function later<T>(load: () => Promise<T>, what: string, draw: (part: T) => ComponentChildren) {
  return <Later load={load} what={what} draw={draw} />
}

/** Redirects to the most recently used project, or to the first project. */
function Home() {
  const known = useStore(session)
  useEffect(() => {
    if (known === undefined) return
    const last = known.projects.find(({ slug }) => slug === preferences.get().project) ?? known.projects[0]
    if (last !== undefined) go(pathOf({ page: 'traces', slug: last.slug }), { replace: true })
  }, [known])
  if (known !== undefined && known.projects.length === 0) {
    return (
      <div class="narrow">
        <h1 tabIndex={-1}>No project</h1>
        <p>Your account has no projects yet. An owner can create one with spoor project create.</p>
      </div>
    )
  }
  return <Waiting what="your projects" />
}

/** The project may have been created after the session was loaded. */
function NoProject({ slug }: { slug: string }) {
  useEffect(() => void loadSession().catch(() => {}), [slug])
  return (
    <div class="narrow">
      <h1 tabIndex={-1}>No project {slug}</h1>
      <p>This project does not exist, or you do not have access to it.</p>
      <p>
        <a href=".">Your projects</a>
      </p>
    </div>
  )
}

function Content({ page }: { page: Page }) {
  switch (page.page) {
    case 'home':
      return <Home />
    case 'sign-in':
      return later(loadSignIn, 'the sign-in page', ({ SignInPage }) => <SignInPage />)
    case 'find':
      return <FindPage traceId={page.traceId} />
    case 'traces':
      return <ListPage key={page.slug} slug={page.slug} />
    case 'trace':
      return later(LATER.trace, 'the trace', ({ TraceView }) => <TraceView slug={page.slug} traceId={page.traceId} />)
    case 'overview':
      return later(LATER.overview, 'the overview', ({ OverviewPage }) => (
        <OverviewPage key={page.slug} slug={page.slug} />
      ))
    case 'errors':
      return later(LATER.errors, 'the errors', ({ ErrorsPage }) => <ErrorsPage key={page.slug} slug={page.slug} />)
    case 'steps':
      return later(LATER.steps, 'the steps', ({ StepsPage }) => <StepsPage key={page.slug} slug={page.slug} />)
    case 'groups':
      return later(LATER.groups, 'the groups', ({ GroupsPage }) => <GroupsPage key={page.slug} slug={page.slug} />)
    case 'sessions':
      return later(LATER.sessions, 'the sessions', ({ SessionsPage }) => (
        <SessionsPage key={page.slug} slug={page.slug} />
      ))
    case 'session':
      return later(LATER.sessions, 'the session', ({ SessionView }) => (
        <SessionView key={page.sessionId} slug={page.slug} sessionId={page.sessionId} />
      ))
    case 'users':
      return later(LATER.users, 'the users', ({ UsersPage }) => <UsersPage key={page.slug} slug={page.slug} />)
    case 'user':
      return later(LATER.users, 'the user', ({ UserView }) => (
        <UserView key={page.userId} slug={page.slug} userId={page.userId} />
      ))
    case 'scores':
      return later(LATER.scores, 'the scores', ({ ScoresPage }) => <ScoresPage key={page.slug} slug={page.slug} />)
    case 'compare':
      return later(LATER.compare, 'the comparison', ({ ComparePage }) => (
        <ComparePage key={page.slug} slug={page.slug} />
      ))
    case 'review':
      return later(LATER.review, 'the review', ({ ReviewPage }) => <ReviewPage key={page.slug} slug={page.slug} />)
    case 'settings':
      return later(LATER.settings, 'the settings', ({ SettingsPage }) => (
        <SettingsPage slug={page.slug} tab={page.tab} />
      ))
    case 'shared':
      return later(LATER.shared, 'the trace', ({ SharedPage }) => <SharedPage />)
    case 'account':
      return later(LATER.settings, 'your account', ({ AccountPage }) => <AccountPage />)
    default:
      return (
        <div class="narrow">
          <h1 tabIndex={-1}>Page not found</h1>
          <p>
            <a href=".">Go to traces</a>
          </p>
        </div>
      )
  }
}

const TITLES: Readonly<Record<Page['page'], string>> = {
  home: 'spoor',
  'sign-in': 'Sign in',
  account: 'Account',
  shared: 'Shared trace',
  find: 'Trace',
  traces: 'Traces',
  trace: 'Trace',
  overview: 'Overview',
  errors: 'Errors',
  steps: 'Steps',
  groups: 'Compare groups',
  sessions: 'Sessions',
  session: 'Session',
  users: 'Users',
  user: 'User',
  scores: 'Scores',
  compare: 'Compare',
  review: 'Review',
  settings: 'Settings',
  nowhere: 'Not found'
}

function App() {
  const { path, search } = usePlace()
  const known = useStore(session)
  const [error, setError] = useState<unknown>()
  const page = readPath(path)
  const slug = 'slug' in page ? page.slug : undefined
  useEffect(() => {
    if (known === undefined && page.page !== 'sign-in') loadSession().catch(setError)
  }, [])
  const isOpen = page.page === 'sign-in' || page.page === 'shared'
  const signedOut = known !== undefined && known.user === null && !isOpen
  useEffect(() => {
    if (signedOut) go(`sign-in?${new URLSearchParams({ to: `${path}${search}` })}`, { replace: true })
  }, [signedOut])
  useEffect(() => {
    if (slug !== undefined && projectOf(slug) !== undefined) prefer({ project: slug })
    if (page.page !== 'trace') document.title = `${TITLES[page.page]}${slug === undefined ? '' : ` · ${slug}`} · spoor`
  }, [page.page, slug, known])
  useEffect(() => {
    // Visitors usually open a trace after viewing a list, so the trace page's code is preloaded.
    if (page.page === 'traces' && known?.user) {
      const timer = setTimeout(() => LATER.trace().catch(() => {}), 1500)
      return () => clearTimeout(timer)
    }
    return undefined
  }, [page.page, known?.user?.id])
  const ready = isOpen || (known !== undefined && !signedOut)
  return (
    <Shell page={page}>
      {error !== undefined ? (
        <Problem error={error} again={() => loadSession().then(() => setError(undefined), setError)} />
      ) : ready ? (
        slug === undefined || projectOf(slug) !== undefined ? (
          <Content page={page} />
        ) : (
          <NoProject slug={slug} />
        )
      ) : (
        <Waiting what="the page" />
      )}
    </Shell>
  )
}

const root = document.getElementById('app') ?? document.body
// Replaces the outlines of a page (plugins/dashboard/pages.ts), which are shown until now.
root.replaceChildren()
render(<App />, root)
