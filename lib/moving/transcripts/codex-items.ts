/** Reads the items and events of Codex's transcripts. */
import type { Json } from '../../trace/json/exact-json.ts'
import { type Fields, readFields, readJson, readList, stringIn } from './transcript.ts'

/** Returns the text of a message or of a reasoning summary. */
export function textOfItem({ content, summary }: Fields): string {
  const parts = [...readList(summary), ...readList(content)].map(readFields)
  return parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n')
}

/** Returns a tool call's input: parsed JSON, a string, or an action. */
export function inputOf({ arguments: text, input, action }: Fields): Json {
  return text === undefined ? (input ?? action) : (readJson(stringIn(text)) ?? text)
}

/** Matches the exit code that precedes a command's output. */
const EXIT_CODE = /^(?:(?!Output:)[^\n]*\n)*?Process exited with code (\d+)/
/** Matches the program's own responses to tool calls that it did not run. */
const REFUSAL = /^(?:unsupported call|failed to parse function arguments|exec_command failed|execution error)/

/** Returns a tool's output and, if the tool failed, the reason. Old versions wrap a command's output in JSON. */
export function readOutput(value: Json): { readonly output: Json; readonly failure: string | undefined } {
  const text = typeof value === 'string' ? value : undefined
  const { output, metadata, success } = readFields(text === undefined ? value : readJson(text))
  const code = readFields(metadata).exit_code
  if (code !== undefined) return { output, failure: code === 0 ? undefined : exitOf(code) }
  if (success === false) return { output: value, failure: 'the tool failed' }
  if (text === undefined) return { output: value, failure: undefined }
  const exit = EXIT_CODE.exec(text)?.[1]
  if (exit !== undefined && exit !== '0') return { output: value, failure: exitOf(exit) }
  return { output: value, failure: REFUSAL.test(text) ? text : undefined }
}

/** Returns the reason why a tool call failed, from the event or item that records the end of the call. */
export function readFailure({ type, status, exit_code, result, error }: Fields): string | undefined {
  const isEnd = stringIn(type).endsWith('_end') || /^[A-Z]/.test(stringIn(type))
  if (!isEnd) return undefined
  if (exit_code !== undefined && exit_code !== 0) return exitOf(exit_code)
  const { Err, Ok } = readFields(result)
  if (Err !== undefined) return stringIn(Err) || 'the tool failed'
  if (readFields(Ok).isError === true || readFields(Ok).is_error === true) return 'the tool returned an error'
  if (status !== 'failed' && status !== 'declined') return undefined
  return stringIn(readFields(error).message) || `the call was ${status === 'failed' ? 'unsuccessful' : 'declined'}`
}

const exitOf = (code: Json): string => `exit code ${code}`
