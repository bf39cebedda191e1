/** The users of a project, and one of them. */
import { useArrival } from '../state/place.ts'

export function UsersPage({ slug }: { slug: string }) {
  useArrival(true)
  return <h1 tabIndex={-1}>Users {slug}</h1>
}

export function UserPage({ slug, userId }: { slug: string; userId: string }) {
  useArrival(true)
  return (
    <h1 tabIndex={-1}>
      {slug} {userId}
    </h1>
  )
}
