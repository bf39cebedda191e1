/** Summarises a step in one line: a tool's main argument, a model's answer, or an agent's prompt. */
import { isFields, type Message, type MessageFields, type MessagePart, unpack } from './message.ts'
import { isPartType, readMessagePart } from './message-parts.ts'
import { toMessages } from './message-shapes.ts'

type MessageCall = Extract<MessagePart, { kind: 'call' }>

/** Names of the most informative arguments of a call, in order of preference. */
const MAIN = [
  ...['command', 'cmd', 'commands', 'query', 'q', 'sql', 'question', 'search', 'pattern', 'expression'],
  ...['file_path', 'filePath', 'path', 'filename', 'file', 'url', 'uri', 'code', 'script', 'prompt'],
  ...['description', 'text', 'message', 'content', 'input', 'topic', 'city', 'location', 'name', 'title', 'id']
]
/** Members that only wrap a tool's arguments. */
const WRAPPERS = ['arguments', 'args', 'kwargs', 'input', 'parameters', 'params']

/** Returns the most informative argument of a call; empty if there is none. */
export function mainArgument(given: unknown): string {
  const value = unpack(given)
  if (Array.isArray(value)) {
    if (value.every(isScalar)) return value.map(String).join(' ')
    const calls = value.slice(0, MOST_CALLS).map(callIn)
    if (calls.every(each => each !== undefined)) return calls.map(callInWords).join(', ')
    return value.length === 1 ? mainArgument(value[0]) : ''
  }
  if (!isFields(value)) return isScalar(value) ? String(value) : ''
  const call = callIn(value)
  if (call !== undefined) return callInWords(call)
  const entries = Object.entries(value)
  const [only] = entries
  const inner = entries.length === 1 && WRAPPERS.includes(only![0]) ? unpack(only![1]) : undefined
  if (typeof inner === 'object' && inner !== null) return mainArgument(inner)
  for (const name of MAIN) {
    const member = value[name]
    if (typeof member === 'string' && member.trim() !== '') return member
    if (Array.isArray(member) && member.length > 0 && member.every(isScalar)) return member.map(String).join(' ')
  }
  const [name, member] = entries.find(([, each]) => isScalar(each) && each !== '') ?? []
  return name === undefined ? '' : `${name}: ${String(member)}`
}

/** Returns the call that a value describes, because some libraries record the model's call as the tool's input. */
function callIn(value: unknown): MessageCall | undefined {
  if (!isFields(value)) return undefined
  const { name, arguments: given = value.args, ...others } = value
  // An untyped call has a name and arguments, and no other member except an id.
  const isPlain =
    typeof name === 'string' && given !== undefined && Object.keys(others).every(each => CALL_MEMBERS.includes(each))
  if (isPlain) return { kind: 'call', id: undefined, name, arguments: unpack(given) }
  if (!isPartType(value.type) && !('functionCall' in value) && !('toolUse' in value)) return undefined
  return readMessagePart(value).find(part => part.kind === 'call')
}
const CALL_MEMBERS = ['args', 'id', 'call_id', 'type', 'index']
/** Maximum number of calls that a preview reads. */
const MOST_CALLS = 8

const isScalar = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

/** Returns a message's text or, if it has none, the calls that it makes. */
function wordsOf(message: Message): string {
  const texts = message.parts.flatMap(textOfPart)
  if (texts.length > 0) return texts.join(' ')
  return message.parts.flatMap(part => (part.kind === 'call' ? [`→ ${callInWords(part)}`] : [])).join(', ')
}

function textOfPart(part: MessagePart): string[] {
  if (part.kind === 'text') return part.text.trim() === '' ? [] : [part.text]
  return part.kind === 'result' ? part.content.flatMap(textOfPart) : []
}

function callInWords({ name, arguments: given }: MessageCall): string {
  const argument = mainArgument(given)
  return argument === '' ? name : `${name} ${argument}`
}

/** Names of blocks that coding agents add to a user's message. */
const ADDED = ['system-reminder', 'environment_context', 'user_instructions']

/** Removes the blocks of one name. Takes linear time, even for blocks that are not closed. */
function withoutBlocks(text: string, name: string): string {
  const [opening, closing] = [`<${name}>`, `</${name}>`]
  let kept = ''
  let at = 0
  for (;;) {
    const start = text.indexOf(opening, at)
    const end = start === -1 ? -1 : text.indexOf(closing, start)
    if (end === -1) return kept + text.slice(at)
    kept += text.slice(at, start)
    at = end + closing.length
  }
}

/** Returns the text of the user message at the end of the input; empty if the input ends with anything else. */
export function promptOf(input: unknown): string {
  const last = (toMessages(input, 'user') ?? []).at(-1)
  if (last?.role !== 'user' || last.parts.every(part => part.kind === 'result')) return ''
  const words = wordsOf(last)
  return ADDED.reduce(withoutBlocks, words).trim() || words
}

/** Returns a description of what a step did, of any length; empty if its input and output do not show it. */
export function previewOfStep(kind: string, input: unknown, output: unknown): string {
  if (kind === 'llm') return answerOf(output)
  if (kind === 'tool' || kind === 'retriever' || kind === 'embedding') {
    return commandIn(mainArgument(input)) || plainWords(input) || plainWords(output)
  }
  return promptOf(input) || mainArgument(input) || plainWords(input) || answerOf(output)
}

/** Returns the code block in an argument, if any, because agents that act through text explain their command first. */
function commandIn(argument: string): string {
  const fence = argument.indexOf('```')
  const start = fence === -1 ? -1 : argument.indexOf('\n', fence)
  const end = start === -1 ? -1 : argument.indexOf('```', start)
  return (end === -1 ? '' : argument.slice(start, end).trim()) || argument
}

/** Returns the text of the last message in a model's output. */
export function answerOf(output: unknown): string {
  const messages = toMessages(output, 'assistant')
  if (messages === undefined) return mainArgument(output) || plainWords(output)
  return messages.map(wordsOf).findLast(words => words !== '') ?? ''
}

/** Returns the text of a value that is not a conversation: the first strings in it. */
function plainWords(value: unknown): string {
  const strings: string[] = []
  const waiting: unknown[] = [unpack(value)]
  while (waiting.length > 0 && strings.length < MOST_STRINGS) {
    const next = waiting.pop()
    if (isScalar(next)) strings.push(String(next))
    else if (typeof next === 'object' && next !== null) {
      // Further values could not be among the first strings, unless these are empty.
      const values = Object.values(next as MessageFields).slice(0, MOST_VALUES)
      for (const value of values.reverse()) waiting.push(value)
    }
  }
  return strings.join(' ')
}
const MOST_STRINGS = 8
const MOST_VALUES = 100
