/** Finds repeated messages. An agent sends the whole earlier conversation with each step. */
import type { Message } from './message.ts'

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
