/** The sign-in page. Browsers do not send a link's token, which is in the fragment, so this page posts the token. */
import { useEffect, useState } from 'preact/hooks'
import { errorMessageOf } from '../state/api.ts'
import { go, useArrival, usePlace } from '../state/place.ts'
import { loadSession, session, signInWith } from '../state/session.ts'
import { useStore } from '../state/store.ts'
import { Waiting } from '../ui/problem.tsx'
import { destination, providerAddress, reasonOf, wantsProvider } from './sign-in.ts'
import { SignInForm } from './sign-in-form.tsx'

function takeToken(): string {
  const token = location.hash.slice(1)
  if (token !== '') history.replaceState(history.state, '', `${location.pathname}${location.search}`)
  return token
}

const LED = 'spoor-led-at'
const LED_MS = 20_000

/** Returns false if the visitor is soon back without a session. The page is then shown, to prevent a redirect loop. */
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
  // If the provider is the only way to sign in, the page redirects there without a click.
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
          You are signed in as {known.user.email}. <a href=".">Go on</a>
        </p>
      )}
      {trying ? <Waiting what="your session" /> : <SignInForm to={destination(search)} after={enter} />}
    </div>
  )
}
