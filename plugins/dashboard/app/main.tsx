/** Where the page begins: the pages by their addresses, and who may see them. */
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Page, pathOf, readPath } from './lib/route.ts'
import { FindPage } from './pages/find.tsx'
import { ListPage } from './pages/list.tsx'
import { SignInPage } from './pages/sign-in.tsx'
import { Problem, Waiting } from './parts/problem.tsx'
import { Shell } from './parts/shell/shell.tsx'
import { usePart } from './state/later.ts'
import { go, usePlace } from './state/place.ts'
import { prefer, preferences } from './state/preferences.ts'
import { loadSession, session } from './state/session.ts'
import { useStore } from './state/store.ts'

/** Pages that are loaded when they are first wanted. */
const LATER = {
  trace: () => import('./pages/trace.tsx'),
  settings: () => import('./pages/settings.tsx')
}

function TracePart(props: { slug: string; traceId: string }) {
  const { part, error, again } = usePart(LATER.trace)
  if (error !== undefined) return <Problem error={error} again={again} />
  return part === undefined ? <Waiting what="the trace" /> : <part.TracePage {...props} />
}

function SettingsPart({ page }: { page: Page }) {
  const { part, error, again } = usePart(LATER.settings)
  if (error !== undefined) return <Problem error={error} again={again} />
  if (part === undefined) return <Waiting what="the settings" />
  return page.page === 'settings' ? <part.SettingsPage slug={page.slug} tab={page.tab} /> : <part.AccountPage />
}

/** The last project, else the first. */
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
        <p>You are a member of an account that has no project yet. Its owner makes one with spoor project create.</p>
      </div>
    )
  }
  return <Waiting what="your projects" />
}

function Content({ page }: { page: Page }) {
  switch (page.page) {
    case 'home':
      return <Home />
    case 'sign-in':
      return <SignInPage />
    case 'find':
      return <FindPage traceId={page.traceId} />
    case 'traces':
      return <ListPage key={page.slug} slug={page.slug} />
    case 'trace':
      return <TracePart slug={page.slug} traceId={page.traceId} />
    case 'settings':
    case 'account':
      return <SettingsPart page={page} />
    default:
      return (
        <div class="narrow">
          <h1 tabIndex={-1}>There is no such page</h1>
          <p>
            <a href=".">To the traces</a>
          </p>
        </div>
      )
  }
}

const TITLES: Readonly<Record<Page['page'], string>> = {
  home: 'spoor',
  'sign-in': 'Sign in',
  account: 'Account',
  find: 'Trace',
  traces: 'Traces',
  trace: 'Trace',
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
  const signedOut = known !== undefined && known.user === null && page.page !== 'sign-in'
  useEffect(() => {
    if (signedOut) go(`sign-in?${new URLSearchParams({ to: `${path}${search}` })}`, { replace: true })
  }, [signedOut])
  useEffect(() => {
    if (slug !== undefined) prefer({ project: slug })
    if (page.page !== 'trace') document.title = `${TITLES[page.page]}${slug === undefined ? '' : ` · ${slug}`} · spoor`
  }, [page.page, slug])
  useEffect(() => {
    // Whoever sees a list will want a trace.
    if (page.page === 'traces' && known?.user) {
      const timer = setTimeout(() => LATER.trace().catch(() => {}), 1500)
      return () => clearTimeout(timer)
    }
    return undefined
  }, [page.page, known?.user?.id])
  const ready = page.page === 'sign-in' || (known !== undefined && !signedOut)
  return (
    <Shell page={page}>
      {error !== undefined ? (
        <Problem error={error} again={() => loadSession().then(() => setError(undefined), setError)} />
      ) : ready ? (
        <Content page={page} />
      ) : (
        <Waiting what="the page" />
      )}
    </Shell>
  )
}

render(<App />, document.getElementById('app') ?? document.body)
