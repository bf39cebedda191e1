import type { Role, Session, VisitorProject } from '../contract.ts'
import { at, read, signInWanted, write } from './api.ts'
import { createStore } from './store.ts'

export const session = createStore<Session | undefined>(undefined)

export async function loadSession(): Promise<Session> {
  const found = await read(at('session', {}), { visitor: true })
  session.set(found)
  return found
}

/** Signs a user in. If `userId` is given, only that user can sign in. */
export async function signInWith(way: 'link' | 'password', body: object, userId?: number): Promise<void> {
  await write('POST', at(`sign-in/${way}`, {}), {
    body: { ...body, ...(userId !== undefined && { userId }) },
    visitor: true
  })
  await loadSession()
  signInWanted.set('no')
}

/** localStorage key for the recent entries of the command box. */
export const RECENT = 'spoor-recent'

export async function signOut(): Promise<void> {
  const elsewhere = session.get()?.signIn.signOutUrl
  await write('DELETE', at('session', {}), { visitor: true })
  try {
    localStorage.removeItem(RECENT)
  } catch {
    // Storage is blocked, so nothing was stored.
  }
  // A user who signed in through a proxy must also sign out at the proxy.
  location.assign(new URL(elsewhere ?? 'sign-in?out', document.baseURI))
}

export function projectOf(slug: string): VisitorProject | undefined {
  return session.get()?.projects.find(project => project.slug === slug)
}

const RANKS: readonly Role[] = ['viewer', 'member', 'owner']

/** Returns whether to offer the visitor actions that need the given role. The server enforces permissions. */
export function may(slug: string, role: Role): boolean {
  const own = projectOf(slug)?.role
  return own !== undefined && RANKS.indexOf(own) >= RANKS.indexOf(role)
}
