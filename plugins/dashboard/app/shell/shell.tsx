/** The frame of every page: navigation, preferences and the user's account. */

import type { ComponentChildren, TargetedEvent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { connection, signInWanted } from '../state/api.ts'
import { useKeys } from '../state/keys.ts'
import { styled, useDialogPart, usePart } from '../state/lazy-part.ts'
import { firstPage, readQuery, writeQuery } from '../state/list-query.ts'
import { go, usePlace } from '../state/navigation.ts'
import { prefer, preferences } from '../state/preferences.ts'
import { type Page, pathOf } from '../state/route.ts'
import { may, session, signOut } from '../state/session.ts'
import { useStore } from '../state/store.ts'
import { dismiss, toasts } from '../state/toasts.ts'
import { Icon } from '../ui/controls.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Menu, type MenuItem } from '../ui/menu.tsx'
import { Pending } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import { timesIn } from '../ui/time.ts'

const loadCommandBox = () => styled(import('./command-box.tsx'))
export const loadSignIn = () => import('./sign-in-form.tsx')
const loadHelp = () => styled(import('./help.tsx'))

export function Shell({ page, children }: { page: Page; children: ComponentChildren }) {
  const slug = 'slug' in page ? page.slug : undefined
  const [help, setHelp] = useState(false)
  const [jump, setJump] = useState(false)
  const commandBox = useDialogPart(loadCommandBox, jump, () => setJump(false))
  const helpDialog = useDialogPart(loadHelp, help, () => setHelp(false))
  const { zone } = useStore(preferences)
  const { search } = usePlace()
  const known = useStore(session)
  const link = (label: string, keys: string, to: Page, ...inside: Page['page'][]): Link => {
    return { label, keys, to, active: [to.page, ...inside].includes(page.page) }
  }
  // A review of the listed traces starts from the list's own filters.
  const listed = page.page === 'traces' ? writeQuery({ ...firstPage(readQuery(search)), cols: [] }) : ''
  const links: Link[] =
    slug === undefined
      ? []
      : [
          link('Overview', 'g o', { page: 'overview', slug }, 'groups'),
          link('Traces', 'g t', { page: 'traces', slug }, 'trace', 'compare'),
          link('Steps', 'g n', { page: 'steps', slug }),
          link('Errors', 'g e', { page: 'errors', slug }),
          link('Sessions', 'g s', { page: 'sessions', slug }, 'session'),
          link('Users', 'g u', { page: 'users', slug }, 'user'),
          link('Scores', 'g c', { page: 'scores', slug }),
          ...(may(slug, 'member') ? [{ ...link('Review', 'g r', { page: 'review', slug }), search: listed }] : []),
          link('Settings', 'g p', { page: 'settings', slug, tab: 'keys' })
        ]
  useKeys({
    '?': () => setHelp(true),
    '/': () => setJump(true),
    ...Object.fromEntries(links.map(each => [each.keys, () => go(hrefOf(each))]))
  })
  const projects = known?.projects ?? []
  const current = projects.find(project => project.slug === slug)
  return (
    <>
      <nav aria-label="Skip">
        <a class="skip" href={`${location.pathname}${search}#main`} data-outside onClick={skip}>
          Skip to content
        </a>
        {page.page === 'traces' && (
          <a class="skip" href={`${location.pathname}${search}#table`} data-outside onClick={skip}>
            Skip to table
          </a>
        )}
      </nav>
      <header class="bar">
        <a class="mark" href={slug === undefined ? '.' : pathOf({ page: 'traces', slug })}>
          <Paw /> spoor
        </a>
        {projects.length > 0 && (
          <Menu
            class="projects"
            down
            label={<span class="clip">{asLine(current?.name ?? slug ?? 'Projects', 80)}</span>}
            items={projects.map(project => ({
              label: asLine(project.name, 80),
              note: project.slug,
              checked: project.slug === slug,
              act: () => go(pathOf({ page: 'traces', slug: project.slug }))
            }))}
          />
        )}
        <nav aria-label="Pages">
          {links.map(each => (
            <a key={each.label} href={hrefOf(each)} aria-current={each.active ? 'page' : undefined}>
              {each.label}
            </a>
          ))}
        </nav>
        <div class="bar-end">
          {slug !== undefined && (
            <button
              type="button"
              class="jump"
              onClick={() => setJump(true)}
              title="Search, open anything by name or ID, or run a command"
            >
              <Icon name="search" /> <span>Search</span> <kbd>/</kbd>
            </button>
          )}
          <button
            type="button"
            class="plain zone"
            aria-label={`Time zone: ${zone === 'utc' ? 'UTC' : 'Local time'}`}
            title={`${timesIn(zone)}. Change.`}
            onClick={() => prefer({ zone: zone === 'utc' ? 'local' : 'utc' })}
          >
            {zone === 'utc' ? 'UTC' : 'Local time'}
          </button>
          <a class="guide wide-only" href={GUIDE} target="_blank" rel="noopener">
            Guide
          </a>
          <AccountMenu links={links} openHelp={() => setHelp(true)} />
        </div>
      </header>
      <Connection />
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <Toasts />
      <SignInAgain />
      {commandBox !== undefined && slug !== undefined && (
        <commandBox.CommandBox slug={slug} onClose={() => setJump(false)} openHelp={() => setHelp(true)} />
      )}
      {helpDialog !== undefined && <helpDialog.Help onClose={() => setHelp(false)} />}
    </>
  )
}

/** The mark of spoor, as in plugins/docs/icon.svg. */
function Paw() {
  return (
    <svg viewBox="0 0 32 32" width="20" height="20" fill="currentColor" aria-hidden="true">
      <ellipse cx="16" cy="21.5" rx="7.2" ry="6.1" />
      <ellipse cx="6.6" cy="15.2" rx="2.7" ry="3.7" transform="rotate(-24 6.6 15.2)" />
      <ellipse cx="12.1" cy="8.6" rx="2.9" ry="4.2" transform="rotate(-8 12.1 8.6)" />
      <ellipse cx="19.9" cy="8.6" rx="2.9" ry="4.2" transform="rotate(8 19.9 8.6)" />
      <ellipse cx="25.4" cy="15.2" rx="2.7" ry="3.7" transform="rotate(24 25.4 15.2)" />
    </svg>
  )
}

/** Focuses the element that a skip link names. */
function skip(event: TargetedEvent<HTMLAnchorElement>) {
  event.preventDefault()
  document.getElementById(event.currentTarget.hash.slice(1))?.focus()
}

/** Shows an unobtrusive notice while the connection is lost. */
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
      {seen && <p>The server is not responding. This page stays as it is and updates when the server is back.</p>}
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

/** Asks for a new sign-in if the session has ended or is too old for an action. The action is then retried. */
function SignInAgain() {
  const wanted = useStore(signInWanted)
  const known = useStore(session)
  const isWanted = wanted === 'fresh' || wanted === 'ended'
  const form = usePart(loadSignIn, isWanted)
  // The dialog opens with its form, whose first field it focuses.
  if (!isWanted || (form.part === undefined && form.error === undefined)) return null
  const content =
    form.part === undefined ? (
      <Pending of={form} what="the form" />
    ) : (
      <form.part.SignInForm fresh={wanted === 'fresh'} />
    )
  if (wanted === 'fresh') {
    return (
      <Dialog title="Sign in again to continue" onClose={() => signInWanted.set('cancelled')}>
        <p>This action requires a sign-in within the last 15 minutes. Sign in as {known?.user?.email} to continue.</p>
        {content}
      </Dialog>
    )
  }
  return (
    <Dialog title="You are signed out" onClose={undefined}>
      <p>Your session has ended. Sign in to continue where you left off.</p>
      {content}
    </Dialog>
  )
}

interface Link {
  readonly label: string
  readonly keys: string
  readonly to: Page
  /** Query string of the address. */
  readonly search?: string
  readonly active: boolean
}

const hrefOf = ({ to, search = '' }: Link): string => `${pathOf(to)}${search}`

/** The address of the guide, relative to the page's base. */
const GUIDE = '../docs'

/** The account menu: account, theme, times, guide and keyboard shortcuts. */
function AccountMenu({ links, openHelp }: { links: readonly Link[]; openHelp(): void }) {
  const known = useStore(session)
  const { theme, keys, zone } = useStore(preferences)
  const themes = (['system', 'light', 'dark'] as const).map(
    (each): MenuItem => ({
      label: each === 'system' ? 'System theme' : each === 'light' ? 'Light theme' : 'Dark theme',
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
          <>
            <span class="initial wide-only" aria-hidden="true">
              {[...(user.name || user.email)][0]?.toUpperCase()}
            </span>
            {/* On a narrow screen, this menu also contains the pages. */}
            <span class="narrow-only">
              <Icon name="menu" />
            </span>
          </>
        ) : (
          <Icon name="menu" />
        )
      }
      items={[
        ...links.map(each => ({ label: each.label, href: hrefOf(each), narrow: true })),
        ...(user ? [{ label: 'Account', note: user.email, href: 'account' }] : []),
        ...(user ? (['line'] as const) : []),
        ...themes,
        'line',
        {
          label: zone === 'utc' ? 'Show local times' : 'Show times in UTC',
          act: () => prefer({ zone: zone === 'utc' ? 'local' : 'utc' }),
          narrow: true
        },
        { label: 'Guide', href: GUIDE },
        { label: 'Keyboard shortcuts', key: '?', act: openHelp },
        { label: keys ? 'Disable shortcuts' : 'Enable shortcuts', act: () => prefer({ keys: !keys }) },
        ...(user ? (['line', { label: 'Sign out', act: () => void signOut() }] as const) : [])
      ]}
    />
  )
}
