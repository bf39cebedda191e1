/** The menu of saved views: opens a view, or saves the current page. */

import { useState } from 'preact/hooks'
import type { View } from '../contract.ts'
import { errorMessageOf } from '../state/api.ts'
import { pathOf } from '../state/route.ts'
import { changeView, saveView, useViews } from '../state/saved-views.ts'
import { may } from '../state/session.ts'
import { tell } from '../state/toasts.ts'
import { addressOf, inOrder, MOST_NAME, VIEW_PAGES, type ViewPage } from '../state/views.ts'
import { Field, FormDialog } from './dialog.tsx'
import { Menu, type MenuItem } from './menu.tsx'
import { asLine } from './text.ts'

interface Props {
  readonly slug: string
  readonly page: ViewPage
  readonly search: string
}

export function ViewsMenu({ slug, page, search }: Props) {
  const { value: views, error, again } = useViews(slug)
  const [saving, setSaving] = useState(false)
  const items: (MenuItem | 'line')[] = inOrder(views ?? [], page).map(view => ({
    label: asLine(view.name, MOST_NAME),
    href: addressOf(slug, view),
    ...noteOf(view, page)
  }))
  if (items.length === 0) {
    items.push({ label: error === undefined ? 'No saved views yet' : errorMessageOf(error), disabled: true })
  }
  items.push('line', { label: 'Save this view…', act: () => setSaving(true) })
  if (views !== undefined && views.length > 0) {
    items.push({ label: 'Rename, share, delete…', href: pathOf({ page: 'settings', slug, tab: 'views' }) })
  }
  return (
    <>
      <Menu end down label="Views" items={items} />
      {saving && (
        <SaveDialog
          slug={slug}
          page={page}
          search={search}
          views={views ?? []}
          onClose={() => setSaving(false)}
          saved={again}
        />
      )}
    </>
  )
}

function noteOf({ page, shared }: View, here: ViewPage): { note?: string } {
  const notes = [...(page === here ? [] : [VIEW_PAGES[page]]), ...(shared ? ['shared'] : [])]
  return notes.length === 0 ? {} : { note: notes.join(', ') }
}

interface SaveProps extends Props {
  readonly views: readonly View[]
  onClose(): void
  saved(): void
}

function SaveDialog({ slug, page, search, views, onClose, saved }: SaveProps) {
  const [name, setName] = useState('')
  const [shared, setShared] = useState(false)
  const wanted = name.trim()
  const same = views.find(view => view.name === wanted && view.shared === shared)
  const save = async () => {
    const view = { name: wanted, page, query: search, shared }
    await (same === undefined ? saveView(slug, view) : changeView(slug, same.id, view))
    tell(`“${asLine(wanted, MOST_NAME)}” is saved`)
    saved()
    onClose()
  }
  return (
    <FormDialog
      title="Save this view"
      submit={same === undefined ? 'Save' : 'Replace'}
      disabled={wanted === ''}
      onClose={onClose}
      onSubmit={save}
    >
      <Field
        label="Name"
        required
        autocomplete="off"
        maxLength={MOST_NAME}
        value={name}
        set={setName}
        note={
          same === undefined
            ? 'Times such as “last 24 hours” stay relative.'
            : 'A view with this name exists and will be replaced.'
        }
      />
      {may(slug, 'member') && (
        <fieldset class="choices">
          <legend class="unseen">Sharing</legend>
          <label>
            <input type="checkbox" checked={shared} onChange={event => setShared(event.currentTarget.checked)} />
            Share with everyone in this project
          </label>
        </fieldset>
      )}
    </FormDialog>
  )
}
