/** Span and trace bodies as the server sent them, with the positions of the bodies' parts. */

import { at, fetchText } from '../state/api.ts'
import { type JsonNode, memberAt, nodeAt, parseExactly, sourceOf } from './json-text.ts'
import type { Message } from './message.ts'
import { toMessages } from './message-shapes.ts'
import { TRACE_ROW } from './span-tree.ts'

export interface Body {
  readonly text: string
  readonly input: JsonNode | undefined
  readonly output: JsonNode | undefined
  /** Undefined for a trace, because only spans have attributes and events. */
  readonly attributes: JsonNode | undefined
  readonly events: JsonNode | undefined
  /** Undefined for a span, because only traces have metadata. */
  readonly metadata: JsonNode | undefined
}

const MOST_CHARACTERS = 12_000_000
const bodies = new Map<string, Body>()
const coming = new Map<string, Promise<Body>>()

const nameOf = (path: string, version: string | number) => `${path}@${version}`

export function pathOfBody(slug: string, traceId: string, spanId: string): string {
  return spanId === TRACE_ROW
    ? at('p/:slug/traces/:traceId/body', { slug, traceId })
    : at('p/:slug/traces/:traceId/spans/:spanId', { slug, traceId, spanId })
}

export function knownBody(path: string, version: string | number): Body | undefined {
  return bodies.get(nameOf(path, version))
}

/** Loads a body. A stored span never changes. A trace can change, so `version` identifies the trace's state. */
export async function loadBody(path: string, version: string | number, signal?: AbortSignal): Promise<Body> {
  const name = nameOf(path, version)
  const known = bodies.get(name)
  if (known !== undefined) return known
  const loading = coming.get(name) ?? readBody(path, signal)
  coming.set(name, loading)
  try {
    const body = await loading
    bodies.set(name, body)
    forgetOld()
    return body
  } finally {
    coming.delete(name)
  }
}

async function readBody(path: string, signal: AbortSignal | undefined): Promise<Body> {
  const text = await fetchText(path, signal === undefined ? {} : { signal })
  const root = nodeAt(text)
  const inner = root && (memberAt(text, root, 'trace') ?? memberAt(text, root, 'span'))
  return bodyIn(text, inner?.kind === 'object' ? inner : root)
}

/** Returns the body of the trace or span that is `holder` in a response's text. */
export function bodyIn(text: string, holder: JsonNode | undefined): Body {
  const at = (key: string) => {
    const node = holder && memberAt(text, holder, key)
    return node === undefined || node.kind === 'null' ? undefined : node
  }
  return {
    text,
    input: at('input'),
    output: at('output'),
    attributes: at('attributes'),
    events: at('events'),
    metadata: at('metadata')
  }
}

function forgetOld(): void {
  let characters = 0
  for (const { text } of bodies.values()) characters += text.length
  for (const [name, { text }] of bodies) {
    if (characters <= MOST_CHARACTERS || bodies.size <= 1) return
    bodies.delete(name)
    characters -= text.length
  }
}

export interface Conversation {
  readonly input: readonly Message[] | undefined
  readonly output: readonly Message[] | undefined
}

const conversations = { spoken: new WeakMap<Body, Conversation>(), plain: new WeakMap<Body, Conversation>() }

/**
 * Reads a body's input and output as messages. A value that is not a conversation becomes undefined. `isSpoken` states
 * whether plain text is a message, as in model calls, or a plain value, as in tool calls.
 */
export function conversationOf(body: Body, isSpoken = true): Conversation {
  const read = conversations[isSpoken ? 'spoken' : 'plain']
  const known = read.get(body)
  if (known !== undefined) return known
  const messages = (node: JsonNode | undefined, role: 'user' | 'assistant') =>
    node === undefined ? undefined : toMessages(parseExactly(sourceOf(body.text, node)), isSpoken ? role : undefined)
  const found = { input: messages(body.input, 'user'), output: messages(body.output, 'assistant') }
  read.set(body, found)
  return found
}
