/** Messages and their parts, whichever library recorded them. */
import type { Media } from '../ui/media.ts'

export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'thinking'; readonly text: string; readonly redacted?: boolean }
  | { readonly kind: 'call'; readonly id: string | undefined; readonly name: string; readonly arguments: unknown }
  | {
      readonly kind: 'result'
      readonly id: string | undefined
      readonly name: string | undefined
      readonly content: readonly Part[]
      readonly failed: boolean
    }
  | { readonly kind: 'media'; readonly media: Media }
  /** A file or image that is elsewhere: its address is shown, never fetched. */
  | { readonly kind: 'link'; readonly label: string; readonly address: string }
  /** A part of unknown form. It is shown as JSON. */
  | { readonly kind: 'data'; readonly label: string; readonly value: unknown }

export interface Message {
  /** system, developer, user, assistant, tool, or whatever the library says. */
  readonly role: string
  readonly name?: string
  readonly parts: readonly Part[]
  /** Why the model stopped, where that is said. */
  readonly finish?: string
}

export type Fields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The first of these fields that is there and not null. */
export function pick(fields: Fields, ...names: readonly string[]): unknown {
  for (const name of names) if (fields[name] != null) return fields[name]
  return undefined
}

export function pickText(fields: Fields, ...names: readonly string[]): string | undefined {
  for (const name of names) if (typeof fields[name] === 'string') return fields[name]
  return undefined
}

/** JSON in a string as its value; other strings as they are. */
export function unpack(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}
