/** Messages and their parts, independent of the library that recorded the messages. */

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
  /** A file or image stored elsewhere. The page shows the address, but never fetches the file. */
  | { readonly kind: 'link'; readonly label: string; readonly address: string }
  /** A part of an unknown kind, which the page shows as JSON. */
  | { readonly kind: 'data'; readonly label: string; readonly value: unknown }

export interface Message {
  /** system, developer, user, assistant, tool, or a role specific to the library. */
  readonly role: string
  readonly name?: string
  readonly parts: readonly MessagePart[]
  /** Reason why the model stopped, if recorded. */
  readonly finish?: string
}

/** Whether a step of this kind receives and returns messages. Inputs and outputs of other steps are plain values. */
export const speaks = (kind: string): boolean => kind === 'llm' || kind === 'agent' || kind === 'trace'

export type MessageFields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is MessageFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Returns the first of the named fields that exists and is not null. */
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

/** Counts the leading messages that both lists share. At each step, an agent resends the whole conversation. */
export function countRepeated(earlier: readonly Message[], later: readonly Message[]): number {
  let count = 0
  const most = Math.min(earlier.length, later.length)
  while (count < most && sameMessage(earlier[count]!, later[count]!)) count++
  return count
}

function sameMessage(one: Message, other: Message): boolean {
  if (one === other) return true
  return one.role === other.role && JSON.stringify(one.parts) === JSON.stringify(other.parts)
}

/** Minimum number of repeated messages worth folding. */
const WORTH_FOLDING = 3

/** Returns the number of messages to fold: all repeated messages except the last message, which stays visible. */
export function foldedCount(earlier: readonly Message[], later: readonly Message[]): number {
  const repeated = Math.min(countRepeated(earlier, later), later.length - 1)
  return repeated < WORTH_FOLDING ? 0 : repeated
}

export function messagesAsText(messages: readonly Message[], write: (value: unknown) => string): string {
  return messages
    .map(({ role, name, parts }) => {
      const lines = parts.map(part => {
        switch (part.kind) {
          case 'text':
            return part.text
          case 'thinking':
            return `(thinking) ${part.redacted ? 'redacted' : part.text}`
          case 'call':
            return `(calls ${part.name}) ${typeof part.arguments === 'string' ? part.arguments : write(part.arguments)}`
          case 'result':
            return `(result${part.name === undefined ? '' : ` of ${part.name}`}) ${partsAsText(part.content, write)}`
          case 'media':
            return `(${part.media.type}, ${part.media.bytes} bytes)`
          case 'link':
            return `(${part.label}) ${part.address}`
          default:
            return write(part.value)
        }
      })
      return `${role}${name === undefined ? '' : ` (${name})`}:\n${lines.join('\n')}`
    })
    .join('\n\n')
}

function partsAsText(parts: Message['parts'], write: (value: unknown) => string): string {
  return parts
    .map(part => (part.kind === 'text' ? part.text : part.kind === 'data' ? write(part.value) : `(${part.kind})`))
    .join('\n')
}
