/** Keeps the entries that a user chose most recently in the command box, in browser storage. */
import { type Entry, KINDS } from './command-entries.ts'

const MOST = 6

interface Kept {
  readonly user: number
  readonly slug: string
  readonly entries: readonly Entry[]
}

/** Returns this user's entries in this project; empty if the string is invalid or belongs to another user. */
export function readRecent(text: string | null, user: number, slug: string): Entry[] {
  try {
    const kept = JSON.parse(text ?? '') as Partial<Kept> | null
    if (kept?.user !== user || kept.slug !== slug || !Array.isArray(kept.entries)) return []
    return kept.entries.filter(isEntry).map(entry => ({ ...entry, kind: 'recent' as const }))
  } catch {
    return []
  }
}

/** Returns the entries to store after a new choice, newest first. */
export function writeRecent(before: readonly Entry[], entry: Entry, user: number, slug: string): string {
  const note = entry.kind === 'recent' ? entry.note : [KINDS[entry.kind], entry.note].filter(Boolean).join(' · ')
  const newest = { ...entry, kind: 'recent' as const, ...(note !== undefined && { note }) }
  const others = before.filter(({ target }) => JSON.stringify(target) !== JSON.stringify(entry.target))
  return JSON.stringify({ user, slug, entries: [newest, ...others].slice(0, MOST) } satisfies Kept)
}

function isEntry(value: unknown): value is Entry {
  const entry = value as Partial<Record<keyof Entry, unknown>> | null
  const target = entry?.target as { address?: unknown } | null | undefined
  return (
    typeof entry?.label === 'string' &&
    ['string', 'undefined'].includes(typeof entry.note) &&
    typeof target?.address === 'string' &&
    /^(?:p\/|account$)/.test(target.address)
  )
}
