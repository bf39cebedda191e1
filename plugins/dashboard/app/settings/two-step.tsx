/** The user's two-step sign-in: turns on codes of an authenticator app, shows recovery codes, and turns codes off. */
import { useEffect, useState } from 'preact/hooks'
import { at, errorMessageOf, write } from '../state/api.ts'
import { loadPart } from '../state/lazy-part.ts'
import { useRead } from '../state/load.ts'
import { loadSession, session } from '../state/session.ts'
import { useStore } from '../state/store.ts'
import { copy, tell } from '../state/toasts.ts'
import { Button, LinkButton, MainButton } from '../ui/controls.tsx'
import { Dialog, Field, FormDialog } from '../ui/dialog.tsx'
import { Problem, Waiting } from '../ui/problem.tsx'
import { Secret } from '../ui/secret.tsx'

type Asked =
  | { readonly what: 'enrol'; readonly secret: string; readonly address: string }
  | { readonly what: 'codes'; readonly codes: readonly string[] }
  | { readonly what: 'off' }

export function TwoStep() {
  const known = useStore(session)
  const loaded = useRead(at('factor', {}))
  const [asked, setAsked] = useState<Asked | undefined>()
  const close = () => setAsked(undefined)
  const attempt = async (act: () => Promise<void>) => {
    try {
      await act()
    } catch (error) {
      tell(errorMessageOf(error), true)
    }
    loaded.again()
    await loadSession()
  }
  const begin = () => attempt(async () => setAsked({ what: 'enrol', ...(await write('POST', at('factor', {}))) }))
  const renew = () =>
    attempt(async () => {
      const { codes } = await write('POST', at('factor/recovery-codes', {}))
      setAsked({ what: 'codes', codes })
    })
  if (known?.signIn.onlyOidc) return null
  const { value, error } = loaded
  return (
    <section class="short">
      <h2>Two-step sign-in</h2>
      {error !== undefined ? (
        <Problem error={error} again={loaded.again} />
      ) : value === undefined ? (
        <Waiting what="two-step sign-in" />
      ) : value.isOn ? (
        <>
          <p>
            Two-step sign-in is on: signing in with your password also requires a code from your authenticator app. You
            have {value.recoveryCodes} unused recovery {value.recoveryCodes === 1 ? 'code' : 'codes'}.
          </p>
          <p>
            <Button onClick={() => void renew()}>Create new recovery codes</Button>{' '}
            <LinkButton onClick={() => setAsked({ what: 'off' })}>Turn off</LinkButton>
          </p>
        </>
      ) : (
        <>
          <p class="soft">
            If you turn this on, signing in with your password also requires a code from an authenticator app or a
            password manager.
          </p>
          {known?.user?.hasPassword ? (
            <p>
              <Button onClick={() => void begin()}>Turn on</Button>
            </p>
          ) : (
            <p>Set a password first. Signing in with a link or with your organisation’s account requires no code.</p>
          )}
        </>
      )}
      {asked?.what === 'enrol' && (
        <Enrol
          {...asked}
          onClose={close}
          confirm={async code => {
            const { codes } = await write('POST', at('factor/confirm', {}), { body: { code } })
            setAsked({ what: 'codes', codes })
            loaded.again()
            await loadSession()
          }}
        />
      )}
      {asked?.what === 'codes' && <RecoveryCodes codes={asked.codes} onClose={close} />}
      {asked?.what === 'off' && (
        <FormDialog
          title="Turn off two-step sign-in?"
          submit="Turn off"
          danger
          onClose={close}
          onSubmit={async () => {
            await write('DELETE', at('factor', {}))
            loaded.again()
            await loadSession()
            close()
          }}
        >
          <p>Your password alone will sign you in. The recovery codes stop working.</p>
        </FormDialog>
      )}
    </section>
  )
}

interface EnrolProps {
  readonly secret: string
  readonly address: string
  readonly confirm: (code: string) => Promise<void>
  readonly onClose: () => void
}

function Enrol({ secret, address, confirm, onClose }: EnrolProps) {
  const [code, setCode] = useState('')
  return (
    <FormDialog title="Turn on two-step sign-in" submit="Turn on" onClose={onClose} onSubmit={() => confirm(code)}>
      <p>Scan this code with your authenticator app, or enter the secret by hand.</p>
      <QrCode text={address} />
      <Secret label="Secret" value={secret} onCopy={() => void copy(secret, 'Secret')} />
      <Field
        label="Code that the app shows"
        required
        inputMode="numeric"
        autocomplete="one-time-code"
        spellcheck={false}
        value={code}
        set={setCode}
        note="Your other sessions will end."
      />
    </FormDialog>
  )
}

function RecoveryCodes({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  const all = codes.join('\n')
  return (
    <Dialog title="Recovery codes" onClose={onClose}>
      <p>
        Keep these codes where you can find them without your phone. Each works once in place of the app, and they are
        not shown again.
      </p>
      <pre class="recovery-codes">{all}</pre>
      <div class="buttons">
        <Button onClick={() => void copy(all, 'Recovery codes')}>Copy</Button>
        <MainButton onClick={onClose}>I have stored them</MainButton>
      </div>
    </Dialog>
  )
}

const BORDER = 4

/** Draws a QR code in the page, so that the secret is sent nowhere. */
function QrCode({ text }: { text: string }) {
  const [rows, setRows] = useState<readonly (readonly boolean[])[]>([])
  useEffect(() => {
    loadPart(() => import('uqr')).then(
      ({ encode }) => setRows(encode(text, { border: BORDER }).data),
      error => tell(errorMessageOf(error), true)
    )
  }, [text])
  const path = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  return (
    <svg class="qr-code" viewBox={`0 0 ${rows.length || 1} ${rows.length || 1}`} role="img" aria-label="QR code">
      <path d={path} />
    </svg>
  )
}
