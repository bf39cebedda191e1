/** Who is signed in, and what of it the page asks. */
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

/** Where the command box keeps where somebody went. */
export const RECENT = 'spoor-recent'

export async function signOut(): Promise<void> {
  const elsewhere = session.get()?.signIn.signOutUrl
  await write('DELETE', at('session', {}), { visitor: true })
  try {
    localStorage.removeItem(RECENT)
  } catch {
    // Nothing was kept, then.
  }
  // Whoever comes through a proxy is signed out there.
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
