/** The user who is signed in, and their rights. */
import type { Project, Role, Session } from '../contract.ts'
import { at, read, signInWanted, write } from './api.ts'
import { createStore } from './store.ts'

export const session = createStore<Session | undefined>(undefined)

/** Asks who is signed in. */
export async function loadSession(): Promise<Session> {
  const found = await read(at('session', {}), { visitor: true })
  session.set(found)
  return found
}

/** Signs somebody in; only this user, if one is given. */
export async function signInWith(way: 'link' | 'password', body: object, userId?: number): Promise<void> {
  await write('POST', at(`sign-in/${way}`, {}), {
    body: { ...body, ...(userId !== undefined && { userId }) },
    visitor: true
  })
  await loadSession()
  signInWanted.set('no')
}

/** The name under which localStorage keeps the recent entries of the command box. */
export const RECENT = 'spoor-recent'

export async function signOut(): Promise<void> {
  const elsewhere = session.get()?.signIn.signOutUrl
  await write('DELETE', at('session', {}), { visitor: true })
  try {
    localStorage.removeItem(RECENT)
  } catch {
    // Nothing was kept, then.
  }
  // A user who signs in through a proxy has to sign out there.
  location.assign(new URL(elsewhere ?? 'sign-in?out', document.baseURI))
}

export function projectOf(slug: string): Project | undefined {
  return session.get()?.projects.find(project => project.slug === slug)
}

const RANKS: readonly Role[] = ['viewer', 'member', 'owner']

/** Whether the visitor may do in a project what takes this role. The server decides; this is what is offered. */
export function may(slug: string, role: Role): boolean {
  const own = projectOf(slug)?.role
  return own !== undefined && RANKS.indexOf(own) >= RANKS.indexOf(role)
}
