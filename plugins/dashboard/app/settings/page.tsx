import { useArrival } from '../state/place.ts'
import { preferences } from '../state/preferences.ts'
import { pathOf, SETTINGS, type SettingsTab } from '../state/route.ts'
import { may, session } from '../state/session.ts'
import { useStore } from '../state/store.ts'
import { Password, SignedInPlaces } from './account.tsx'
import { KeySettings } from './keys.tsx'
import { Members } from './members.tsx'
import { Prices } from './prices.tsx'
import { ProjectSettings } from './project.tsx'
import { Views } from './views.tsx'

const TITLES: Readonly<Record<SettingsTab, string>> = {
  keys: 'Keys',
  members: 'Members',
  views: 'Views',
  prices: 'Prices',
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
      ) : tab === 'views' ? (
        <Views key={slug} slug={slug} />
      ) : !isOwner ? (
        <p>Only owners see the {tab} of an account. Your role is another.</p>
      ) : tab === 'keys' ? (
        <KeySettings key={slug} slug={slug} zone={zone} />
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
      <SignedInPlaces zone={zone} />
    </div>
  )
}
