/** The account menu: account, colours, times and keyboard shortcuts. */

import { prefer, preferences } from '../state/preferences.ts'
import { type Page, pathOf } from '../state/route.ts'
import { session, signOut } from '../state/session.ts'
import { useStore } from '../state/store.ts'
import { Icon } from '../ui/icons.tsx'
import { Menu, type MenuItem } from '../ui/menu.tsx'

export interface Link {
  readonly label: string
  readonly to: Page
  readonly active: boolean
}

export function AccountMenu({ links, openHelp }: { links: readonly Link[]; openHelp(): void }) {
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
