import { useEffect, useState } from 'preact/hooks'
import { ApiError, errorMessageOf, signInWanted } from '../state/api.ts'
import { BASE_PATH, go, useArrival, usePlace } from '../state/navigation.ts'
import { loadSession, session, signInWith } from '../state/session.ts'
import { useStore } from '../state/store.ts'
import { Field, Form } from '../ui/dialog.tsx'
import { Waiting } from '../ui/problem.tsx'
import { destination, providerAddress, reasonOf, wantsProvider } from './sign-in.ts'

interface SignInFormProps {
  /** The page to open after the sign-in. If undefined, the form is in a dialog and the page stays. */
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
  const [code, setCode] = useState<string | undefined>()
  const [link, setLink] = useState('')
  return (
    <>
      {ways?.password && (
        <Form
          submit="Sign in"
          onSubmit={async () => {
            try {
              await signInWith('password', { email, password, ...(code && { code }) }, only?.id)
            } catch (error) {
              if (error instanceof ApiError && error.code === 'code_required') setCode('')
              throw error
            }
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
          {code !== undefined && (
            <Field
              label="Code"
              required
              autocomplete="one-time-code"
              spellcheck={false}
              value={code}
              set={setCode}
              note="From your authenticator app, or a recovery code."
            />
          )}
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
      {ways?.oidc && fresh && <p class="soft">You will return to this page, but your input will be lost.</p>}
      {(ways?.password || ways?.oidc) && <p class="or">or</p>}
      <Form
        submit="Sign in with link"
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
              An administrator can create one with <code>spoor user link</code> and your e-mail address. It works once,
              within 15 minutes.
            </>
          }
        />
      </Form>
      {!fresh && (
        <p class="soft">
          Already signed in in another tab?{' '}
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
            Reload
          </button>
        </p>
      )}
    </>
  )
}

/** Takes the token of a sign-in link from the URL's fragment, which browsers do not send to the server. */
function takeToken(): string {
  const token = location.hash.slice(1)
  if (token !== '') history.replaceState(history.state, '', `${location.pathname}${location.search}`)
  return token
}

const LED = 'spoor-led-at'
const LED_MS = 20_000

/** Returns false if the last redirect was moments ago. The sign-in page is then shown, to prevent a redirect loop. */
function mayLead(): boolean {
  const before = Number(sessionStorage.getItem(LED) ?? 0)
  sessionStorage.setItem(LED, String(Date.now()))
  return Date.now() - before > LED_MS
}

export function SignInPage() {
  const { search } = usePlace()
  const known = useStore(session)
  const [error, setError] = useState<unknown>()
  const [trying, setTrying] = useState(location.hash.length > 1)
  const enter = () => go(destination(search), { replace: true })
  useEffect(() => {
    const attempt = async () => {
      const token = takeToken()
      if (token === '') return
      setTrying(true)
      setError(undefined)
      try {
        await signInWith('link', { token })
        enter()
      } catch (error) {
        setError(error)
        setTrying(false)
      }
    }
    void attempt()
    // Another sign-in link may be opened in the same tab.
    const again = () => void attempt()
    addEventListener('hashchange', again)
    return () => removeEventListener('hashchange', again)
  }, [])
  useEffect(() => {
    if (known === undefined) loadSession().catch(setError)
  }, [])
  const reason = reasonOf(search)
  // If people can sign in only at the provider, the page redirects to the provider without a click.
  const isLed = known?.user === null && known.signIn.onlyOidc === true && !trying && error === undefined
  const leads = isLed && wantsProvider(search)
  useEffect(() => {
    if (leads && mayLead()) location.assign(new URL(providerAddress(destination(search)), document.baseURI))
  }, [leads])
  useArrival(true)
  return (
    <div class="narrow sign-in">
      <h1 tabIndex={-1}>Sign in</h1>
      {(error !== undefined || reason !== undefined) && (
        <p class="fault" role="alert">
          {error === undefined ? reason : errorMessageOf(error)}
        </p>
      )}
      {known?.user && !trying && (
        <p>
          You are signed in as {known.user.email}. <a href=".">Continue</a>
        </p>
      )}
      {trying ? <Waiting what="your session" /> : <SignInForm to={destination(search)} after={enter} />}
    </div>
  )
}
