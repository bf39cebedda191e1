/** Creates, rotates and revokes a project's API keys. A complete key is shown only once. */

import { useState } from 'preact/hooks'
import type { Key } from '../contract.ts'
import { type ApiPath, at, errorMessageOf, isAway, write } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import { copy } from '../state/toasts.ts'
import { LinkButton, MainButton } from '../ui/controls.tsx'
import { Dialog, Field, FormDialog } from '../ui/dialog.tsx'
import { Moment } from '../ui/facts.tsx'
import { NONE } from '../ui/format.ts'
import { Secret } from '../ui/secret.tsx'
import { asLine } from '../ui/text.ts'
import type { Zone } from '../ui/time.ts'
import { Listing, RowAction } from './listing.tsx'

type Asked = { what: 'create' } | { what: 'rotate' | 'revoke'; key: Key } | { what: 'show'; secret: string }

/** Without a response, the user cannot know whether a key was created, and a new key's secret is shown only once. */
const LOST_CREATION =
  'The key may have been created anyway. If it is in the list, revoke it, because nobody has seen its secret, and create another.'
const LOST_ROTATION =
  'The key may have been rotated anyway. If the list has another key with this label, rotate that key, because nobody has seen its secret.'

const SCOPES = ['traces:write', 'traces:read', 'traces:delete']
const EXPIRIES = [
  { days: null, label: 'never' },
  { days: 30, label: 'in 30 days' },
  { days: 90, label: 'in 90 days' },
  { days: 365, label: 'in a year' }
]

export function KeySettings({ slug, zone }: { slug: string; zone: Zone }) {
  const path = at('p/:slug/keys', { slug })
  const loaded = useRead(path)
  const [asked, setAsked] = useState<Asked | undefined>()
  const [all, setAll] = useState(false)
  const close = () => setAsked(undefined)
  /** Keys revoked on this page. The list shows these keys as revoked even before it is reloaded. */
  const [ended, setEnded] = useState<ReadonlySet<string>>(new Set())
  const over = (key: Key) => setEnded(new Set([...ended, key.keyId]))
  const issue = async (
    address: ApiPath<'p/:slug/keys' | 'p/:slug/keys/:keyId/rotate'>,
    lost: string,
    body?: unknown
  ) => {
    try {
      const { key } = await write('POST', address, body === undefined ? {} : { body })
      setAsked({ what: 'show', secret: key })
    } catch (error) {
      throw isAway(error) ? new Error(`${errorMessageOf(error)} ${lost}`) : error
    } finally {
      loaded.again()
    }
  }
  const rotate = async (key: Key) => {
    await issue(at('p/:slug/keys/:keyId/rotate', { slug, keyId: key.keyId }), LOST_ROTATION)
    over(key)
  }
  const revoke = async (key: Key) => {
    await write('POST', at('p/:slug/keys/:keyId/revoke', { slug, keyId: key.keyId }))
    over(key)
    loaded.again()
    close()
  }
  const keys = (loaded.value?.keys ?? []).map(key =>
    key.state === 'active' && ended.has(key.keyId) ? { ...key, state: 'revoked' as const } : key
  )
  const active = keys.filter(({ state }) => state === 'active')
  const shown = all ? keys : active
  return (
    <section>
      <div class="head">
        <p class="soft">
          Applications record and read traces with a key. Anyone who holds a key can use all of its scopes.
        </p>
        <MainButton onClick={() => setAsked({ what: 'create' })}>Create a key</MainButton>
      </div>
      <Listing
        loaded={loaded}
        what="the keys"
        columns={['Key', 'Scopes', 'Environment', 'Created', 'Expires', 'Last used']}
        none={shown.length === 0 ? 'No active keys.' : undefined}
      >
        {shown.map(key => (
          <KeyRow key={key.keyId} of={key} zone={zone} ask={setAsked} />
        ))}
      </Listing>
      {keys.length > active.length && (
        <p class="more">
          <LinkButton onClick={() => setAll(!all)}>
            {all ? 'Show active keys only' : `Show ${keys.length - active.length} inactive`}
          </LinkButton>
        </p>
      )}
      {asked?.what === 'create' && <CreateKey onClose={close} create={body => issue(path, LOST_CREATION, body)} />}
      {(asked?.what === 'rotate' || asked?.what === 'revoke') && (
        <FormDialog
          title={asked.what === 'rotate' ? 'Rotate this key?' : 'Revoke this key?'}
          submit={asked.what === 'rotate' ? 'Rotate' : 'Revoke'}
          danger
          onClose={close}
          onSubmit={() => (asked.what === 'rotate' ? rotate(asked.key) : revoke(asked.key))}
        >
          <p>
            <b>{asLine(asked.key.label, 80) || asked.key.keyId}</b>{' '}
            {asked.what === 'rotate'
              ? 'gets a new secret, and the old one stops working immediately. Give your applications the new one.'
              : 'stops working immediately, and applications that use it are rejected. This cannot be undone.'}
          </p>
        </FormDialog>
      )}
      {asked?.what === 'show' && (
        <Dialog title="Your new key" onClose={close}>
          <p>Copy the key now; it is shown only once. Store it where your application reads it.</p>
          <Secret label="Key" value={asked.secret} onCopy={() => void copy(asked.secret, 'Key')} />
          <div class="buttons">
            <MainButton onClick={close}>Done</MainButton>
          </div>
        </Dialog>
      )}
    </section>
  )
}

function KeyRow({ of: key, zone, ask }: { of: Key; zone: Zone; ask(asked: Asked): void }) {
  const now = new Date()
  const time = (iso: string | null, none: string) =>
    iso === null ? <span class="soft">{none}</span> : <Moment iso={iso} zone={zone} now={now} />
  const name = asLine(key.label, 60) || key.keyId
  return (
    <tr class={key.state === 'active' ? '' : 'is-over'}>
      <td>
        {key.label !== '' && <b>{asLine(key.label, 60)} </b>}
        <code>{key.keyId}</code>
        {key.state !== 'active' && ` (${key.state})`}
      </td>
      <td data-title="Scopes">{key.scopes.map(scope => scope.replace('traces:', '')).join(', ')}</td>
      <td data-title="Environment">{key.environment ?? <span class="soft">{NONE}</span>}</td>
      <td data-title="Created">{time(key.createdAt, NONE)}</td>
      <td data-title="Expires">{time(key.expiresAt, 'never')}</td>
      <td data-title="Last used">{time(key.lastUsedAt, 'never')}</td>
      <td>
        {key.state === 'active' && (
          <>
            <RowAction label="Rotate" name={`Rotate ${name}`} act={() => ask({ what: 'rotate', key })} />{' '}
            <RowAction label="Revoke" name={`Revoke ${name}`} act={() => ask({ what: 'revoke', key })} />
          </>
        )}
      </td>
    </tr>
  )
}

function CreateKey({ onClose, create }: { onClose(): void; create(body: unknown): Promise<void> }) {
  const [label, setLabel] = useState('')
  const [scopes, setScopes] = useState<readonly string[]>(['traces:write', 'traces:read'])
  const [environment, setEnvironment] = useState('')
  const [days, setDays] = useState<number | null>(null)
  return (
    <FormDialog
      title="Create a key"
      submit="Create"
      onClose={onClose}
      onSubmit={() => {
        if (scopes.length === 0) throw new Error('Select at least one scope.')
        return create({
          ...(label.trim() !== '' && { label: label.trim() }),
          scopes,
          environment: environment.trim() === '' ? null : environment.trim(),
          expiresInDays: days
        })
      }}
    >
      <Field
        label="Label"
        maxLength={200}
        autocomplete="off"
        value={label}
        set={setLabel}
        note="The key's purpose, such as the application that uses it."
      />
      <fieldset class="choices">
        <legend>Scopes</legend>
        {SCOPES.map(scope => (
          <label key={scope}>
            <input
              type="checkbox"
              checked={scopes.includes(scope)}
              onChange={event =>
                setScopes(event.currentTarget.checked ? [...scopes, scope] : scopes.filter(each => each !== scope))
              }
            />
            {scope}
          </label>
        ))}
      </fieldset>
      <Field
        label="Environment"
        maxLength={32}
        placeholder="none"
        spellcheck={false}
        autocomplete="off"
        value={environment}
        set={setEnvironment}
        note="Such as prod or staging. Every trace recorded with this key belongs to this environment."
      />
      <label class="field">
        <span>Expires</span>
        <select
          value={String(days)}
          onChange={event => setDays(event.currentTarget.value === 'null' ? null : Number(event.currentTarget.value))}
        >
          {EXPIRIES.map(({ days, label }) => (
            <option key={label} value={String(days)}>
              {label}
            </option>
          ))}
        </select>
      </label>
    </FormDialog>
  )
}
