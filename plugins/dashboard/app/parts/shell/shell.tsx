/** What is around every page: where one can go, how times and colours are, who one is. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Page, pathOf } from '../../lib/route.ts'
import { offsetName } from '../../lib/time.ts'
import { connection, signInWanted } from '../../state/api.ts'
import { useKeys } from '../../state/keys.ts'
import { go, usePlace } from '../../state/place.ts'
import { prefer, preferences } from '../../state/preferences.ts'
import { session, signOut } from '../../state/session.ts'
import { useStore } from '../../state/store.ts'
import { dismiss, toasts } from '../../state/toasts.ts'
import { Dialog } from '../dialog.tsx'
import { Icon } from '../icons.tsx'
import { Jump } from './jump.tsx'
import { Menu, type MenuItem } from '../menu.tsx'
import { SignInForm } from './sign-in-form.tsx'

export function Shell({ page, children }: { page: Page; children: ComponentChildren }) {
  const slug = 'slug' in page ? page.slug : undefined
  const [help, setHelp] = useState(false)
  const [jump, setJump] = useState(false)
  const { zone } = useStore(preferences)
  const { search } = usePlace()
  const known = useStore(session)
  useKeys({
    '?': () => setHelp(true),
    '/': () => setJump(true),
    ...(slug !== undefined && {
      'g t': () => go(pathOf({ page: 'traces', slug })),
      'g s': () => go(pathOf({ page: 'settings', slug, tab: 'keys' }))
    })
  })
  const projects = known?.projects ?? []
  const current = projects.find(project => project.slug === slug)
  const links: Link[] =
    slug === undefined
      ? []
      : [
          { label: 'Traces', to: { page: 'traces', slug }, active: page.page === 'traces' || page.page === 'trace' },
          { label: 'Settings', to: { page: 'settings', slug, tab: 'keys' }, active: page.page === 'settings' }
        ]
  return (
    <>
      <a class="skip" href={`${location.pathname}${search}#main`} data-outside onClick={skip}>
        Skip to the content
      </a>
      <header class="bar">
        <a class="mark" href={slug === undefined ? '.' : pathOf({ page: 'traces', slug })}>
          spoor
        </a>
        {projects.length > 0 && (
          <Menu
            class="projects"
            label={
              <>
                <span class="clip">{current?.name ?? slug ?? 'Projects'}</span> <Icon name="down" />
              </>
            }
            items={projects.map(project => ({
              label: project.name,
              note: project.slug,
              checked: project.slug === slug,
              act: () => go(pathOf({ page: 'traces', slug: project.slug }))
            }))}
          />
        )}
        <nav aria-label="Pages">
          {links.map(({ label, to, active }) => (
            <a key={label} href={pathOf(to)} aria-current={active ? 'page' : undefined}>
              {label}
            </a>
          ))}
        </nav>
        <div class="bar-end">
          {slug !== undefined && (
            <button type="button" class="jump" onClick={() => setJump(true)} title="Jump to a trace, session or user">
              <Icon name="search" /> <span>Jump</span> <kbd>/</kbd>
            </button>
          )}
          <button
            type="button"
            class="plain zone"
            title={`Times are ${zone === 'utc' ? 'UTC' : `local, ${offsetName(new Date())}`}. Change.`}
            onClick={() => prefer({ zone: zone === 'utc' ? 'local' : 'utc' })}
          >
            {zone === 'utc' ? 'UTC' : 'Local'}
          </button>
          <Mine links={links} openHelp={() => setHelp(true)} />
        </div>
      </header>
      <Connection />
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <Toasts />
      <SignInAgain />
      {jump && slug !== undefined && <Jump slug={slug} onClose={() => setJump(false)} />}
      {help && <Help onClose={() => setHelp(false)} />}
    </>
  )
}

function skip(event: Event) {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

interface Link {
  readonly label: string
  readonly to: Page
  readonly active: boolean
}

function Mine({ links, openHelp }: { links: readonly Link[]; openHelp(): void }) {
  const known = useStore(session)
  const { theme, keys, zone } = useStore(preferences)
  const themes = (['system', 'light', 'dark'] as const).map(
    (each): MenuItem => ({
      label: each === 'system' ? 'Colours of the system' : each === 'light' ? 'Light' : 'Dark',
      checked: theme === each,
      act: () => prefer({ theme: each })
    })
  )
  const user = known?.user
  return (
    <Menu
      class="mine"
      end
      name={user ? `You: ${user.email}` : 'Options'}
      label={
        user ? (
          <span class="initial" aria-hidden="true">
            {[...(user.name || user.email)][0]?.toUpperCase()}
          </span>
        ) : (
          <Icon name="menu" />
        )
      }
      items={[
        ...links.map(({ label, to }) => ({ label, href: pathOf(to), narrow: true })),
        ...(user ? [{ label: user.name || user.email, note: user.email, href: 'account' }] : []),
        ...(user ? (['line'] as const) : []),
        ...themes,
        'line',
        {
          label: zone === 'utc' ? 'Show local times' : 'Show times in UTC',
          act: () => prefer({ zone: zone === 'utc' ? 'local' : 'utc' }),
          narrow: true
        },
        { label: 'Keyboard', key: '?', act: openHelp },
        { label: keys ? 'Turn single keys off' : 'Turn single keys on', act: () => prefer({ keys: !keys }) },
        ...(user ? (['line', { label: 'Sign out', act: () => void signOut() }] as const) : [])
      ]}
    />
  )
}

/** Quiet, and gone by itself. */
function Connection() {
  const state = useStore(connection)
  const [seen, setSeen] = useState(false)
  useEffect(() => {
    if (state === 'fine') return setSeen(false)
    const timer = setTimeout(() => setSeen(true), 400)
    return () => clearTimeout(timer)
  }, [state])
  return (
    <div class="connection" role="status">
      {seen && <p>The server does not answer. What you see stays; it goes on as soon as the server is back.</p>}
    </div>
  )
}

function Toasts() {
  const shown = useStore(toasts)
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, bad }) => (
        <p key={id} class={bad ? 'is-bad' : ''}>
          <span>{text}</span>
          <button type="button" class="plain" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </p>
      ))}
    </div>
  )
}

/** A session that ends in the middle: what was asked is asked again afterwards. */
function SignInAgain() {
  const wanted = useStore(signInWanted)
  if (!wanted) return null
  return (
    <Dialog title="You are signed out" onClose={undefined}>
      <p>Your session has ended. Sign in to go on where you are.</p>
      <SignInForm />
    </Dialog>
  )
}

const COMMANDS: readonly (readonly [keys: string, does: string])[] = [
  ['?', 'this help'],
  ['/', 'jump to a trace, session or user'],
  ['g t', 'go to the traces'],
  ['g s', 'go to the settings'],
  ['j k', 'next and previous row, or trace'],
  ['Enter', 'open the row'],
  ['x', 'select the row'],
  ['Esc', 'back, or close'],
  ['↑ ↓ ← →', 'move in a tree, fold and unfold'],
  ['[ ]', 'fold all, unfold all'],
  ['m r', 'messages, raw JSON'],
  ['f n N', 'find in the trace, next and previous span'],
  ['a', 'annotate'],
  ['y', 'copy the link']
]

function Help({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <table class="keys">
        <tbody>
          {COMMANDS.map(([keys, does]) => (
            <tr key={keys}>
              <th scope="row">
                {keys.split(' ').map(key => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </th>
              <td>{does}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="soft">Single keys can be turned off in the menu at the top right.</p>
    </Dialog>
  )
}
