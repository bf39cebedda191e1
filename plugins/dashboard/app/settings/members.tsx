/**
 * Lists and invites the account's members. No mail is sent: an owner receives a link to pass on to the invited person.
 */

import { useState } from 'preact/hooks'
import type { ProjectMember, Role } from '../contract.ts'
import { at, errorMessageOf, write } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import { copy, tell } from '../state/toasts.ts'
import { MainButton } from '../ui/controls.tsx'
import { Dialog, Field, FormDialog } from '../ui/dialog.tsx'
import { Moment } from '../ui/facts.tsx'
import { Secret } from '../ui/secret.tsx'
import { asLine } from '../ui/text.ts'
import { ago, type Zone } from '../ui/time.ts'
import { Listing, RowAction } from './listing.tsx'

type Asked =
  | { what: 'invite' }
  | { what: 'remove' | 'reset'; member: ProjectMember }
  | { what: 'link'; link: string; email: string }

const ROLES: readonly { role: Role; may: string }[] = [
  { role: 'viewer', may: 'can read everything' },
  { role: 'member', may: 'can also annotate and edit metadata' },
  { role: 'owner', may: 'can also delete data and change settings' }
]

export function Members({ slug, zone }: { slug: string; zone: Zone }) {
  const path = at('p/:slug/members', { slug })
  const loaded = useRead(path)
  const { again } = loaded
  const [asked, setAsked] = useState<Asked | undefined>()
  const close = () => setAsked(undefined)
  const attempt = async (act: () => Promise<void>) => {
    try {
      await act()
    } catch (error) {
      tell(errorMessageOf(error), true)
    }
    again()
  }
  const makeLink = ({ id, email }: ProjectMember) =>
    attempt(async () => {
      const { link } = await write('POST', at('p/:slug/members/:userId/link', { slug, userId: id }))
      setAsked({ what: 'link', link, email })
    })
  const setRole = ({ id, email }: ProjectMember, role: Role) =>
    attempt(async () => {
      await write('PATCH', at('p/:slug/members/:userId', { slug, userId: id }), { body: { role } })
      tell(`${email} is ${role}`)
    })
  const requireFactor = (requiresFactor: boolean) =>
    attempt(async () => {
      await write('PATCH', path, { body: { requiresFactor } })
      tell(requiresFactor ? 'Two-step sign-in is required' : 'Two-step sign-in is no longer required')
    })
  return (
    <section>
      <div class="head">
        <p class="soft">Members can see all projects in this account.</p>
        <MainButton onClick={() => setAsked({ what: 'invite' })}>Invite</MainButton>
      </div>
      <Listing loaded={loaded} what="the members" columns={['Member', 'Role', 'Last seen']}>
        {loaded.value?.members.map(member => (
          <tr key={member.id}>
            <td>
              {member.name !== '' && <b>{asLine(member.name, 80)} </b>}
              {asLine(member.email, 120)}
              {member.own && <span class="soft"> (you)</span>}
              {member.hasFactor && <span class="soft"> two-step</span>}
            </td>
            <td>
              <select
                aria-label={`Role for ${member.email}`}
                value={member.role}
                onChange={event => void setRole(member, event.currentTarget.value as Role)}
              >
                {ROLES.map(({ role }) => (
                  <option key={role}>{role}</option>
                ))}
              </select>
              {member.byClaim && <span class="soft"> from the sign-in provider</span>}
            </td>
            <td data-title="Last seen">
              {member.seenAt === null ? (
                <span class="soft">never</span>
              ) : (
                <Moment iso={member.seenAt} zone={zone} text={ago(member.seenAt, Date.now())} />
              )}
            </td>
            <td>
              <RowAction label="Sign-in link" name={`Sign-in link for ${member.email}`} act={() => makeLink(member)} />{' '}
              {member.hasFactor && !member.own && (
                <RowAction
                  label="Reset codes"
                  name={`Reset the codes for ${member.email}`}
                  act={() => setAsked({ what: 'reset', member })}
                />
              )}{' '}
              <RowAction
                label="Remove"
                name={`Remove ${member.email}`}
                act={() => setAsked({ what: 'remove', member })}
              />
            </td>
          </tr>
        ))}
      </Listing>
      {loaded.value && (
        <p class="require-factor">
          <label>
            <input
              type="checkbox"
              checked={loaded.value.requiresFactor}
              onChange={event => void requireFactor(event.currentTarget.checked)}
            />
            <span>Require two-step sign-in for members with a password</span>
          </label>
        </p>
      )}
      <dl class="plain-facts roles">
        {ROLES.map(({ role, may }) => (
          <div key={role}>
            <dt>{role}</dt>
            <dd>{may}</dd>
          </div>
        ))}
      </dl>
      {loaded.value?.members.some(({ byClaim }) => byClaim) && (
        <p class="soft">
          A role from the sign-in provider is updated at each sign-in. Once you choose another role here, it no longer
          changes.
        </p>
      )}
      {asked?.what === 'invite' && (
        <Invite
          onClose={close}
          invite={async (email, role) => {
            const { link } = await write('POST', path, { body: { email, role } })
            again()
            setAsked({ what: 'link', link, email })
          }}
        />
      )}
      {asked?.what === 'link' && (
        <Dialog title="Sign-in link" onClose={close}>
          <p>
            Give this link to <b>{asLine(asked.email, 120)}</b>. It can be used once, expires after 15 minutes, and is
            not shown again.
          </p>
          <Secret label="Link" value={asked.link} onCopy={() => void copy(asked.link, 'Link')} />
          <div class="buttons">
            <MainButton onClick={close}>Done</MainButton>
          </div>
        </Dialog>
      )}
      {asked?.what === 'reset' && (
        <FormDialog
          title="Reset two-step sign-in?"
          submit="Reset"
          danger
          onClose={close}
          onSubmit={async () => {
            await write('DELETE', at('p/:slug/members/:userId/factor', { slug, userId: asked.member.id }))
            again()
            close()
          }}
        >
          <p>
            <b>{asLine(asked.member.email, 120)}</b> will sign in with the password alone until they turn it on again.
          </p>
        </FormDialog>
      )}
      {asked?.what === 'remove' && (
        <FormDialog
          title="Remove this member?"
          submit="Remove"
          danger
          onClose={close}
          onSubmit={async () => {
            await write('DELETE', at('p/:slug/members/:userId', { slug, userId: asked.member.id }))
            again()
            close()
          }}
        >
          <p>
            <b>{asLine(asked.member.email, 120)}</b> will lose access to this account. Their annotations are kept.
            {asked.member.byClaim && ' The sign-in provider will admit them again unless it removes the role too.'}
          </p>
        </FormDialog>
      )}
    </section>
  )
}

function Invite({ onClose, invite }: { onClose(): void; invite(email: string, role: Role): Promise<void> }) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  return (
    <FormDialog
      title="Invite a member"
      submit="Create a link"
      onClose={onClose}
      onSubmit={() => invite(email.trim(), role)}
    >
      <Field
        label="E-mail address"
        type="email"
        required
        autocomplete="off"
        value={email}
        set={setEmail}
        note="No e-mail is sent. You get a sign-in link to pass on."
      />
      <fieldset class="choices is-column">
        <legend>Role</legend>
        {ROLES.map(each => (
          <label key={each.role}>
            <input type="radio" name="role" checked={role === each.role} onChange={() => setRole(each.role)} />
            <span>
              {each.role} <span class="soft">{each.may}</span>
            </span>
          </label>
        ))}
      </fieldset>
    </FormDialog>
  )
}
