import { useState } from 'preact/hooks'
import { signInWanted } from '../state/api.ts'
import { BASE_PATH } from '../state/place.ts'
import { loadSession, session, signInWith } from '../state/session.ts'
import { useStore } from '../state/store.ts'
import { Form } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { providerAddress } from './sign-in.ts'

interface SignInFormProps {
  /** Page to open afterwards. If undefined, the form is in a dialog and the page stays. */
  readonly to?: string
  /** Whether a signed-in user must authenticate again. */
  readonly fresh?: boolean
  readonly after?: () => void
}

export function SignInForm({ to, fresh = false, after }: SignInFormProps) {
  const ways = useStore(session)?.signIn
  const [user] = useState(session.get()?.user)
  // The page retries this user's request, so the same user must sign in.
  const only = to === undefined ? user : undefined
  const [email, setEmail] = useState(user?.email ?? '')
  const [password, setPassword] = useState('')
  const [link, setLink] = useState('')
  return (
    <>
      {ways?.password && (
        <Form
          submit="Sign in"
          onSubmit={async () => {
            await signInWith('password', { email, password }, only?.id)
            after?.()
          }}
        >
          {/* The type is not `email`, because browsers validate that type and the first user is called `owner`. */}
          <Field
            label="E-mail address"
            required
            readOnly={only != null}
            autocomplete="username"
            inputMode="email"
            spellcheck={false}
            value={email}
            set={setEmail}
          />
          <Field
            label="Password"
            type="password"
            required
            autocomplete="current-password"
            value={password}
            set={setPassword}
          />
        </Form>
      )}
      {ways?.password && ways?.oidc && <p class="or">or</p>}
      {ways?.oidc && (
        <a
          class="button provider"
          data-outside
          href={providerAddress(to ?? `${location.pathname.slice(BASE_PATH.length)}${location.search}`, fresh)}
        >
          Sign in with your organisation’s account
        </a>
      )}
      {ways?.oidc && fresh && <p class="soft">You come back to this page, but what you typed is lost.</p>}
      {(ways?.password || ways?.oidc) && <p class="or">or</p>}
      <Form
        submit="Use the link"
        onSubmit={async () => {
          const token = link.trim().split('#').at(-1) ?? ''
          await signInWith('link', { token }, only?.id)
          after?.()
        }}
      >
        <Field
          label="Sign-in link"
          required
          autocomplete="off"
          spellcheck={false}
          value={link}
          set={setLink}
          note={
            <>
              The administrator of this server makes one with <code>spoor user link</code> and your e-mail address. It
              works once, within 15 minutes.
            </>
          }
        />
      </Form>
      {!fresh && (
        <p class="soft">
          Already signed in, in another tab?{' '}
          <button
            type="button"
            class="link"
            onClick={async () => {
              const { user } = await loadSession()
              if (user === null) return
              if (only && user.id !== only.id) return location.reload()
              signInWanted.set('no')
              after?.()
            }}
          >
            Look again
          </button>
        </p>
      )}
    </>
  )
}
