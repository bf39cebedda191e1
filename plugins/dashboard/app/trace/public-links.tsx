/** Creates, lists and revokes public links to a trace. */

import { useId, useState } from 'preact/hooks'
import { at, errorMessageOf, write } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import { copy, tell } from '../state/toasts.ts'
import { LinkButton } from '../ui/controls.tsx'
import { Dialog, Form } from '../ui/dialog.tsx'
import { Moment } from '../ui/facts.tsx'
import { Secret } from '../ui/secret.tsx'
import { asLine } from '../ui/text.ts'
import type { Zone } from '../ui/time.ts'

const DAYS = [1, 7, 30, 90]

interface Props {
  readonly slug: string
  readonly traceId: string
  readonly zone: Zone
  onClose(): void
}

export function PublicLinks({ slug, traceId, zone, onClose }: Props) {
  const { value, again } = useRead(at('p/:slug/traces/:traceId/public-links', { slug, traceId }))
  const [days, setDays] = useState(7)
  const [made, setMade] = useState<string | undefined>()
  const id = useId()
  const make = async () => {
    const path = at('p/:slug/traces/:traceId/public-links', { slug, traceId })
    const { token } = await write('POST', path, { body: { days } })
    setMade(new URL(`shared#${token}`, document.baseURI).href)
    again()
  }
  const revoke = async (linkId: number) => {
    try {
      await write('DELETE', at('p/:slug/public-links/:linkId', { slug, linkId }))
      tell('Link revoked')
    } catch (error) {
      tell(errorMessageOf(error), true)
    }
    again()
  }
  return (
    <Dialog title="Public link" onClose={onClose}>
      <p>
        Anyone who has the link sees everything recorded in this trace, including its user, its session and its
        metadata, but not its scores.
      </p>
      {made === undefined ? (
        <Form submit="Create link" onCancel={onClose} onSubmit={make}>
          <fieldset class="choices">
            <legend>Expires after</legend>
            {DAYS.map(each => (
              <label key={each}>
                <input type="radio" name={id} checked={days === each} onChange={() => setDays(each)} />
                {each === 1 ? '1 day' : `${each} days`}
              </label>
            ))}
          </fieldset>
        </Form>
      ) : (
        <Secret label="Copy the link now; it is shown only once" value={made} onCopy={() => void copy(made, 'Link')} />
      )}
      {value !== undefined && value.links.length > 0 && (
        <>
          <h3>Active links</h3>
          <ul class="columns">
            {value.links.map(link => (
              <li key={link.id}>
                <span>
                  Expires <Moment iso={link.expiresAt} zone={zone} />
                  {link.madeBy !== null && `, created by ${asLine(link.madeBy, 80)}`}
                </span>
                <LinkButton onClick={() => revoke(link.id)}>Revoke</LinkButton>
              </li>
            ))}
          </ul>
        </>
      )}
    </Dialog>
  )
}
