/** Messages and their parts, independent of the library that recorded them. */
import type { Media } from '../ui/media.ts'

export type MessagePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'thinking'; readonly text: string; readonly redacted?: boolean }
  | { readonly kind: 'call'; readonly id: string | undefined; readonly name: string; readonly arguments: unknown }
  | {
      readonly kind: 'result'
      readonly id: string | undefined
      readonly name: string | undefined
      readonly content: readonly MessagePart[]
      readonly failed: boolean
    }
  | { readonly kind: 'media'; readonly media: Media }
  /** A file or image stored elsewhere. The page shows its address, but never fetches it. */
  | { readonly kind: 'link'; readonly label: string; readonly address: string }
  /** A part of unknown form, which is shown as JSON. */
  | { readonly kind: 'data'; readonly label: string; readonly value: unknown }

export interface Message {
  /** system, developer, user, assistant, tool, or a role of the library's own. */
  readonly role: string
  readonly name?: string
  readonly parts: readonly MessagePart[]
  /** Reason why the model stopped, if recorded. */
  readonly finish?: string
}

export type MessageFields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is MessageFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Returns the first of these fields that exists and is not null. */
export function pick(fields: MessageFields, ...names: readonly string[]): unknown {
  for (const name of names) if (fields[name] != null) return fields[name]
  return undefined
}

export function pickText(fields: MessageFields, ...names: readonly string[]): string | undefined {
  for (const name of names) if (typeof fields[name] === 'string') return fields[name]
  return undefined
}

/** Parses a string that contains a JSON object or array; returns other values unchanged. */
export function unpack(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}
