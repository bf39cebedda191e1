/** Signing in. A link's token is in the fragment, which browsers send to nobody; it is given to the server here. */
import { useEffect, useState } from 'preact/hooks'
import { Waiting } from '../parts/problem.tsx'
import { SignInForm } from '../parts/shell/sign-in-form.tsx'
import { messageOf } from '../state/api.ts'
import { go, useArrival, usePlace } from '../state/place.ts'
import { loadSession, session, signInWith } from '../state/session.ts'
import { useStore } from '../state/store.ts'

/** Where to go afterwards: a path of this page, which cannot lead elsewhere. */
function destination(search: string): string {
  const wanted = new URLSearchParams(search).get('to') ?? ''
  return /^(?:p|t)\/[^\\]*$|^account$/.test(wanted) ? wanted : ''
}

function takeToken(): string {
  const token = location.hash.slice(1)
  if (token !== '') history.replaceState(history.state, '', `${location.pathname}${location.search}`)
  return token
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
    // Another link may be opened in the same tab.
    const again = () => void attempt()
    addEventListener('hashchange', again)
    return () => removeEventListener('hashchange', again)
  }, [])
  useEffect(() => {
    if (known === undefined) loadSession().catch(setError)
  }, [])
  useArrival(true)
  return (
    <div class="narrow sign-in">
      <h1 tabIndex={-1}>Sign in</h1>
      {error !== undefined && (
        <p class="fault" role="alert">
          {messageOf(error)}
        </p>
      )}
      {known?.user && !trying && (
        <p>
          You are signed in as {known.user.email}. <a href=".">Go on</a>
        </p>
      )}
      {trying ? <Waiting what="your session" /> : <SignInForm after={enter} />}
    </div>
  )
}
