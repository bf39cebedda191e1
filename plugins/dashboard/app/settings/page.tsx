import { useState } from 'preact/hooks'
import { at, errorMessageOf, write } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import { useArrival } from '../state/navigation.ts'
import { preferences } from '../state/preferences.ts'
import { pathOf, SETTINGS, type SettingsTab } from '../state/route.ts'
import { loadSession, may, session } from '../state/session.ts'
import { useStore } from '../state/store.ts'
import { tell } from '../state/toasts.ts'
import { LinkButton } from '../ui/controls.tsx'
import { Field, Form } from '../ui/dialog.tsx'
import { Moment } from '../ui/facts.tsx'
import { asLine } from '../ui/text.ts'
import { ago, type Zone } from '../ui/time.ts'
import { AuditLog } from './audit.tsx'
import { KeySettings } from './keys.tsx'
import { Listing } from './listing.tsx'
import { Members } from './members.tsx'
import { Prices } from './prices.tsx'
import { ProjectSettings } from './project.tsx'
import { ScoreDefinitions } from './score-definitions.tsx'
import { TwoStep } from './two-step.tsx'
import { Views } from './views.tsx'

const TITLES: Readonly<Record<SettingsTab, string>> = {
  keys: 'Keys',
  members: 'Members',
  views: 'Views',
  scores: 'Scores',
  prices: 'Prices',
  audit: 'Audit',
  project: 'Project'
}

export function SettingsPage({ slug, tab }: { slug: string; tab: SettingsTab }) {
  const { zone } = useStore(preferences)
  const isOwner = may(slug, 'owner')
  useArrival(true)
  return (
    <div class="settings">
      <h1 tabIndex={-1}>Settings</h1>
      <nav aria-label="Settings">
        {SETTINGS.map(each => (
          <a
            key={each}
            href={pathOf({ page: 'settings', slug, tab: each })}
            aria-current={each === tab ? 'page' : undefined}
          >
            {TITLES[each]}
          </a>
        ))}
      </nav>
      {tab === 'project' ? (
        <ProjectSettings key={slug} slug={slug} zone={zone} />
      ) : tab === 'prices' ? (
        <Prices key={slug} slug={slug} zone={zone} />
      ) : tab === 'scores' ? (
        <ScoreDefinitions key={slug} slug={slug} />
      ) : tab === 'views' ? (
        <Views key={slug} slug={slug} />
      ) : !isOwner ? (
        <p>Only owners can see this account’s {tab === 'audit' ? 'audit log' : tab}.</p>
      ) : tab === 'keys' ? (
        <KeySettings key={slug} slug={slug} zone={zone} />
      ) : tab === 'audit' ? (
        <AuditLog key={slug} slug={slug} zone={zone} />
      ) : (
        <Members key={slug} slug={slug} zone={zone} />
      )}
    </div>
  )
}

export function AccountPage() {
  const { zone } = useStore(preferences)
  const user = useStore(session)?.user
  useArrival(true)
  return (
    <div class="settings">
      <h1 tabIndex={-1}>{user?.name || user?.email}</h1>
      {user?.name && <p class="soft">{user.email}</p>}
      <Password />
      <TwoStep />
      <SignedInPlaces zone={zone} />
    </div>
  )
}

/** The user's own settings: password and sessions. */
function Password() {
  const known = useStore(session)
  const user = known?.user
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const has = user?.hasPassword === true
  if (known?.signIn.onlyOidc) return null
  return (
    <section class="short">
      <h2>{has ? 'Change your password' : 'Set a password'}</h2>
      <p class="soft">{has ? 'This ends your other sessions.' : 'With a password, you can sign in without a link.'}</p>
      <Form
        submit={has ? 'Change password' : 'Set password'}
        onSubmit={async () => {
          await write('POST', at('password', {}), { body: { ...(has && { current }), password } })
          setCurrent('')
          setPassword('')
          tell(has ? 'Password changed' : 'Password set')
          await loadSession()
        }}
      >
        {/* Password managers store the e-mail address in this hidden field with the password. */}
        <input
          class="unseen"
          type="text"
          autocomplete="username"
          tabIndex={-1}
          aria-hidden="true"
          readOnly
          value={user?.email ?? ''}
        />
        {has && (
          <Field
            label="Current password"
            type="password"
            required
            autocomplete="current-password"
            value={current}
            set={setCurrent}
          />
        )}
        <Field
          label="New password"
          type="password"
          required
          minLength={12}
          autocomplete="new-password"
          value={password}
          set={setPassword}
          note="At least 12 characters."
        />
      </Form>
    </section>
  )
}

function SignedInPlaces({ zone }: { zone: Zone }) {
  const loaded = useRead(at('sessions', {}))
  const end = async (id: string) => {
    try {
      await write('DELETE', at('sessions/:sessionId', { sessionId: id }))
      tell('Signed out')
    } catch (error) {
      tell(errorMessageOf(error), true)
    }
    loaded.again()
  }
  return (
    <section>
      <h2>Signed-in devices</h2>
      <Listing loaded={loaded} what="your sessions" columns={['Browser', 'Last seen', 'By']}>
        {loaded.value?.sessions.map(place => (
          <tr key={place.id}>
            <td title={place.agent}>
              {browserOf(place.agent)}
              {place.current && <span class="soft"> (this browser)</span>}
            </td>
            <td data-title="Last seen">
              <Moment iso={place.seenAt} zone={zone} text={ago(place.seenAt, Date.now())} />
            </td>
            <td data-title="By">{place.means === 'oidc' ? 'provider' : place.means}</td>
            <td>{!place.current && <LinkButton onClick={() => void end(place.id)}>Sign out</LinkButton>}</td>
          </tr>
        ))}
      </Listing>
    </section>
  )
}

/** Returns the browser and the operating system that a User-Agent header suggests. */
function browserOf(agent: string): string {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\/?[\d.]*/.exec(agent.replace(/HeadlessChrome/, 'Chrome'))?.[1]
  const system = /(Windows|Macintosh|Android|iPhone|iPad|Linux)/.exec(agent)?.[1]
  const names: Readonly<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera', Macintosh: 'macOS' }
  const parts = [browser, system].flatMap(part => (part === undefined ? [] : [names[part] ?? part]))
  return parts.length === 0 ? asLine(agent, 60) || 'unknown' : parts.join(', ')
}
