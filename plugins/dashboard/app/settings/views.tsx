/** Renames, shares and deletes saved views. A view is created on the page whose filters the view saves. */

import { useState } from 'preact/hooks'
import type { View } from '../contract.ts'
import { errorMessageOf } from '../state/api.ts'
import { changeView, removeView, useViews } from '../state/saved-views.ts'
import { may } from '../state/session.ts'
import { tell } from '../state/toasts.ts'
import { addressOf, describeQuery, MOST_NAME, VIEW_PAGES } from '../state/views.ts'
import { Field, FormDialog } from '../ui/dialog.tsx'
import { asLine } from '../ui/text.ts'
import { Listing, RowAction } from './listing.tsx'

type Asked = { readonly what: 'rename' | 'delete'; readonly view: View }

export function Views({ slug }: { slug: string }) {
  const loaded = useViews(slug)
  const [asked, setAsked] = useState<Asked | undefined>()
  const close = () => setAsked(undefined)
  const finish = () => {
    loaded.again()
    close()
  }
  const share = async ({ id, shared }: View) => {
    try {
      await changeView(slug, id, { shared: !shared })
      loaded.again()
    } catch (error) {
      tell(errorMessageOf(error), true)
    }
  }
  return (
    <section>
      <p class="soft">
        A view saves a page with its filters under a name. To save one, use the Views menu on a page. Your views are
        private; views that a member shares are visible to everyone in the project.
      </p>
      <Listing
        loaded={loaded}
        what="the views"
        columns={['Name', 'Page', 'Shows', 'Visibility']}
        none={loaded.value?.length === 0 ? 'No saved views yet.' : undefined}
      >
        {(loaded.value ?? []).map(view => (
          <tr key={view.id}>
            <td>
              <a href={addressOf(slug, view)}>{asLine(view.name, MOST_NAME)}</a>
            </td>
            <td data-title="Page">{VIEW_PAGES[view.page]}</td>
            <td data-title="Shows">{asLine(describeQuery(view.query), 120)}</td>
            <td data-title="Visibility">{view.shared ? 'shared' : 'private'}</td>
            <td>
              {(!view.shared || may(slug, 'member')) && <Acts view={view} slug={slug} ask={setAsked} share={share} />}
            </td>
          </tr>
        ))}
      </Listing>
      {asked?.what === 'rename' && <Rename slug={slug} view={asked.view} onClose={close} done={finish} />}
      {asked?.what === 'delete' && (
        <FormDialog
          title="Delete this view?"
          submit="Delete"
          danger
          onClose={close}
          onSubmit={async () => {
            await removeView(slug, asked.view.id)
            finish()
          }}
        >
          <p>
            <b>{asLine(asked.view.name, MOST_NAME)}</b>{' '}
            {asked.view.shared ? 'will be deleted for everyone.' : 'will be deleted. Traces are not affected.'}
          </p>
        </FormDialog>
      )}
    </section>
  )
}

interface ActsProps {
  readonly view: View
  readonly slug: string
  ask(asked: Asked): void
  share(view: View): void
}

function Acts({ view, slug, ask, share }: ActsProps) {
  const name = asLine(view.name, MOST_NAME)
  return (
    <>
      <RowAction label="Rename" name={`Rename ${name}`} act={() => ask({ what: 'rename', view })} />{' '}
      {!may(slug, 'member') ? null : view.shared ? (
        <RowAction label="Make private" name={`Make private: ${name}`} act={() => share(view)} />
      ) : (
        <RowAction label="Share" name={`Share ${name}`} act={() => share(view)} />
      )}{' '}
      <RowAction label="Delete" name={`Delete ${name}`} act={() => ask({ what: 'delete', view })} />
    </>
  )
}

interface RenameProps {
  readonly slug: string
  readonly view: View
  onClose(): void
  done(): void
}

function Rename({ slug, view, onClose, done }: RenameProps) {
  const [name, setName] = useState(view.name)
  return (
    <FormDialog
      title="Rename view"
      submit="Rename"
      disabled={name.trim() === '' || name.trim() === view.name}
      onClose={onClose}
      onSubmit={async () => {
        await changeView(slug, view.id, { name: name.trim() })
        done()
      }}
    >
      <Field label="Name" required autocomplete="off" maxLength={MOST_NAME} value={name} set={setName} />
    </FormDialog>
  )
}
