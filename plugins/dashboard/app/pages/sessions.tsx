/** The sessions of a project, and one as a conversation. */
import { useArrival } from '../state/place.ts'

export function SessionsPage({ slug }: { slug: string }) {
  useArrival(true)
  return <h1 tabIndex={-1}>Sessions {slug}</h1>
}

export function SessionPage({ slug, sessionId }: { slug: string; sessionId: string }) {
  useArrival(true)
  return (
    <h1 tabIndex={-1}>
      {slug} {sessionId}
    </h1>
  )
}
