/** The keys of a project: made, renewed and ended here; a whole key is shown once. */
import { useState } from 'preact/hooks'
import { NONE } from '../../lib/format.ts'
import { asLine } from '../../lib/text.ts'
import { fullTime, shortTime, type Zone } from '../../lib/time.ts'
import { read, write } from '../../state/api.ts'
import { useLoad } from '../../state/load.ts'
import { copy } from '../../state/toasts.ts'
import { Dialog, Form, Secret } from '../dialog.tsx'
import { Problem, Waiting } from '../problem.tsx'

interface Key {
  readonly keyId: string
  readonly label: string
  readonly scopes: readonly string[]
  readonly environment: string | null
  readonly expiresAt: string | null
  readonly state: 'active' | 'expired' | 'revoked'
  readonly createdAt: string
  readonly lastUsedAt: string | null
}
type Asked = { what: 'create' } | { what: 'rotate' | 'revoke'; key: Key } | { what: 'show'; secret: string }

const SCOPES = ['traces:write', 'traces:read', 'traces:delete']
const EXPIRIES = [
  { days: null, label: 'never' },
  { days: 30, label: 'in 30 days' },
  { days: 90, label: 'in 90 days' },
  { days: 365, label: 'in a year' }
]

export function Keys({ slug, zone }: { slug: string; zone: Zone }) {
  const path = `p/${encodeURIComponent(slug)}/keys`
  const { value, error, again } = useLoad(path, signal => read<{ keys: Key[] }>(path, { signal }))
  const [asked, setAsked] = useState<Asked | undefined>()
  const [all, setAll] = useState(false)
  const close = () => setAsked(undefined)
  const issue = async (address: string, body?: unknown) => {
    const { key } = await write<{ key: string }>('POST', address, body === undefined ? {} : { body })
    again()
    setAsked({ what: 'show', secret: key })
  }
  const keys = value?.keys ?? []
  const active = keys.filter(({ state }) => state === 'active')
  const shown = all ? keys : active
  return (
    <section>
      <div class="head">
        <p class="soft">Applications record and read with a key. Whoever has it can do what its scopes say.</p>
        <button type="button" class="main" onClick={() => setAsked({ what: 'create' })}>
          Create a key
        </button>
      </div>
      {error !== undefined && <Problem error={error} again={again} />}
      {value === undefined && error === undefined && <Waiting what="the keys" />}
      {value !== undefined && shown.length === 0 && <p class="soft">No active key.</p>}
      {shown.length > 0 && (
        <table class="plain-table">
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Scopes</th>
              <th scope="col">Environment</th>
              <th scope="col">Created</th>
              <th scope="col">Expires</th>
              <th scope="col">Last used</th>
              <th scope="col">
                <span class="unseen">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map(key => (
              <KeyRow key={key.keyId} of={key} zone={zone} ask={setAsked} />
            ))}
          </tbody>
        </table>
      )}
      {keys.length > active.length && (
        <p>
          <button type="button" class="link" onClick={() => setAll(!all)}>
            {all ? 'Show the active ones only' : `Show ${keys.length - active.length} that ended`}
          </button>
        </p>
      )}
      {asked?.what === 'create' && <CreateKey onClose={close} create={body => issue(path, body)} />}
      {(asked?.what === 'rotate' || asked?.what === 'revoke') && (
        <Dialog title={asked.what === 'rotate' ? 'Rotate this key?' : 'Revoke this key?'} onClose={close}>
          <Form
            submit={asked.what === 'rotate' ? 'Rotate' : 'Revoke'}
            danger
            onCancel={close}
            onSubmit={async () => {
              if (asked.what === 'rotate') return issue(`${path}/${asked.key.keyId}/rotate`)
              await write('POST', `${path}/${asked.key.keyId}/revoke`)
              again()
              close()
            }}
          >
            <p>
              <b>{asLine(asked.key.label, 80) || asked.key.keyId}</b>{' '}
              {asked.what === 'rotate'
                ? 'gets a new secret, and the old one ends at once: applications that use it are refused until they have the new one.'
                : 'ends at once: applications that use it are refused. This cannot be undone.'}
            </p>
          </Form>
        </Dialog>
      )}
      {asked?.what === 'show' && (
        <Dialog title="The new key" onClose={close}>
          <p>It is shown now and never again. Put it where your application reads it.</p>
          <Secret label="Key" value={asked.secret} onCopy={() => void copy(asked.secret, 'Key')} />
          <div class="buttons">
            <button type="button" class="main" onClick={close}>
              I have it
            </button>
          </div>
        </Dialog>
      )}
    </section>
  )
}

function KeyRow({ of: key, zone, ask }: { of: Key; zone: Zone; ask(asked: Asked): void }) {
  const now = new Date()
  const time = (iso: string | null, none: string) =>
    iso === null ? (
      <span class="soft">{none}</span>
    ) : (
      <time dateTime={iso} title={fullTime(iso, zone)}>
        {shortTime(iso, zone, now)}
      </time>
    )
  const name = asLine(key.label, 60) || key.keyId
  return (
    <tr class={key.state === 'active' ? '' : 'is-over'}>
      <td>
        {key.label !== '' && <b>{asLine(key.label, 60)} </b>}
        <code>{key.keyId}</code>
        {key.state !== 'active' && ` (${key.state})`}
      </td>
      <td>{key.scopes.map(scope => scope.replace('traces:', '')).join(', ')}</td>
      <td>{key.environment ?? <span class="soft">{NONE}</span>}</td>
      <td>{time(key.createdAt, NONE)}</td>
      <td>{time(key.expiresAt, 'never')}</td>
      <td>{time(key.lastUsedAt, 'never')}</td>
      <td>
        {key.state === 'active' && (
          <>
            <button
              type="button"
              class="link"
              aria-label={`Rotate ${name}`}
              onClick={() => ask({ what: 'rotate', key })}
            >
              Rotate
            </button>{' '}
            <button
              type="button"
              class="link"
              aria-label={`Revoke ${name}`}
              onClick={() => ask({ what: 'revoke', key })}
            >
              Revoke
            </button>
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
    <Dialog title="Create a key" onClose={onClose}>
      <Form
        submit="Create"
        onCancel={onClose}
        onSubmit={() => {
          if (scopes.length === 0) throw new Error('A key needs a scope.')
          return create({
            ...(label.trim() !== '' && { label: label.trim() }),
            scopes,
            environment: environment.trim() === '' ? null : environment.trim(),
            expiresInDays: days
          })
        }}
      >
        <label class="field">
          <span>Label</span>
          <input
            maxLength={200}
            value={label}
            autocomplete="off"
            onInput={event => setLabel(event.currentTarget.value)}
          />
          <small>What it is for, such as the application that uses it.</small>
        </label>
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
        <label class="field">
          <span>Environment</span>
          <input
            maxLength={32}
            value={environment}
            placeholder="none"
            spellcheck={false}
            autocomplete="off"
            onInput={event => setEnvironment(event.currentTarget.value)}
          />
          <small>Such as prod or staging. All traces that are recorded with the key are of it.</small>
        </label>
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
      </Form>
    </Dialog>
  )
}
