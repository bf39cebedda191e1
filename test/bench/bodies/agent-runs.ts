/**
 * Runs of coding agents, made from a seed. As real agents do, each model call sends the whole conversation so far, so
 * that most of a run's bytes repeat. agent-runs.test.ts holds their statistics to those of published runs.
 */
import type { IngestBody, SpanInput } from '../../../lib/schema/input.ts'
import { createProse, type Prose } from './prose.ts'
import { END_PLACE, MINUTE_PLACE, SESSION_PLACE, TRACE_ID_PLACE } from './template.ts'

/** Number of different runs. */
export const AGENT_RUNS = 64

const LEAST_TURNS = 4
const MORE_TURNS = 18
/** Characters of the agent's instructions, which are the same in all runs. */
const INSTRUCTIONS = 5_000
const TASK = { least: 700, more: 1_800 }
/** One run in five begins with a long file. */
const ATTACHED = { one: 5, least: 100, more: 250 }
const FILE_LINES = 250
/** Lines of a file that the agent sees at once. */
const WINDOW_LINES = 40
/** The last second of a run, in ms. All times of a run are within one minute (template.ts). */
const LAST_MS = 59_000

interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
  readonly tool_calls?: readonly object[]
  readonly tool_call_id?: string
}

/** Returns the run of a variant, always the same for the same variant. */
export function agentRun(variant: number): IngestBody {
  const prose = createProse(variant + 7_000, variant % 4 === 3)
  const instructions = createProse(7).text(INSTRUCTIONS)
  const turns = LEAST_TURNS + Math.floor(prose.random() ** 1.35 * MORE_TURNS)
  const task = prose.text(TASK.least + prose.integer(TASK.more))
  const lines = variant % ATTACHED.one === 0 ? ATTACHED.least + prose.integer(ATTACHED.more) : 0
  const attached = sourceFile(prose, lines).join('\n')
  const messages: Message[] = [
    { role: 'system', content: instructions },
    { role: 'user', content: `${attached}${task}` }
  ]
  const file = sourceFile(prose, FILE_LINES)
  const rootId = prose.hex(16)
  const step = LAST_MS / (2 * turns + 1)
  const steps: SpanInput[] = []
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
  const add = (fields: Omit<SpanInput, 'id' | 'parentSpanId' | 'status' | 'startedAt' | 'endedAt'>) => {
    const at = steps.length * step
    const times = { startedAt: timeAt(at), endedAt: timeAt(at + step * (0.3 + 0.6 * prose.random())) }
    steps.push({ id: prose.hex(16), parentSpanId: rootId, status: 'ok', ...times, ...fields })
  }
  for (let turn = 1; turn <= turns; turn++) {
    const callId = `call_${prose.hex(12)}`
    const command = commandOf(prose, turn === turns)
    const call = { id: callId, type: 'function', function: { name: 'bash', arguments: JSON.stringify({ command }) } }
    const answer: Message = { role: 'assistant', content: prose.text(60 + prose.integer(180)), tool_calls: [call] }
    const tokens = countTokens(messages, answer)
    usage.inputTokens += tokens.inputTokens
    usage.outputTokens += tokens.outputTokens
    usage.totalTokens += tokens.totalTokens
    add({ name: 'chat', kind: 'llm', ...MODEL, input: { messages: [...messages] }, output: answer, usage: tokens })
    if (turn === turns) break
    const seen = observe(prose, file)
    add({ name: 'bash', kind: 'tool', input: { command }, output: seen, attributes: { 'tool.call.id': callId } })
    messages.push(answer, { role: 'tool', content: seen, tool_call_id: callId })
  }
  const root: SpanInput = {
    ...{ id: rootId, name: 'coding-agent', kind: 'agent', status: 'ok', input: task, output: prose.text(300) },
    ...{ startedAt: timeAt(0), endedAt: timeAt(LAST_MS) }
  }
  return {
    schemaVersion: 1,
    trace: {
      id: TRACE_ID_PLACE,
      name: 'coding-agent',
      status: 'ok',
      startedAt: timeAt(0),
      endedAt: `${END_PLACE}Z`,
      ...MODEL,
      sessionId: `session-${SESSION_PLACE}`,
      tags: ['coding'],
      input: task,
      output: root.output,
      usage,
      spans: [root, ...steps]
    }
  }
}

const MODEL = { provider: 'anthropic', model: 'claude-sonnet-4-5' } as const
/** Characters of English and code for one token of a model, roughly. */
const TOKEN_CHARACTERS = 4

function countTokens(messages: readonly Message[], answer: Message) {
  const characters = messages.reduce((sum, { content }) => sum + content.length, 0)
  const inputTokens = Math.ceil(characters / TOKEN_CHARACTERS)
  const outputTokens = Math.ceil(answer.content.length / TOKEN_CHARACTERS)
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
}

const commandOf = (prose: Prose, isLast: boolean): string =>
  isLast ? 'submit' : `${prose.pick(COMMANDS)} ${prose.pick(FOLDERS)}/${prose.hex(4)}.py ${prose.integer(FILE_LINES)}`
const COMMANDS = ['open', 'goto', 'sed -n', 'python -m pytest', 'grep -rn', 'edit']
const FOLDERS = ['src', 'src/parser', 'tests', 'lib/models', 'tools']

/** Returns what a command prints: a window of the file, as editors of agents show it, or a few lines. */
function observe(prose: Prose, file: readonly string[]): string {
  if (prose.random() < 0.45) return prose.text(40 + prose.integer(250))
  const from = WINDOW_LINES * prose.integer(Math.floor(file.length / WINDOW_LINES))
  const lines = file.slice(from, from + WINDOW_LINES).map((line, i) => `${from + i + 1}:${line}`)
  return [`[File: ${prose.pick(FOLDERS)}/main.py (${file.length} lines)]`, ...lines].join('\n')
}

/** Returns the lines of a source file. */
function sourceFile(prose: Prose, length: number): string[] {
  const names = Array.from({ length: 14 }, () =>
    prose
      .text(9)
      .replace(/[^a-z]+/gi, '_')
      .toLowerCase()
  )
  const name = () => prose.pick(names)
  const kinds = [
    () => `def ${name()}(self, ${name()}, ${name()}=None):`,
    () => `    if ${name()} is not None and self.${name()} != ${prose.integer(100)}:`,
    () => `        return self.${name()}(${name()}, ${name()}=${name()})`,
    () => `        ${name()} = ${name()}.get("${name()}", ${prose.integer(10)})`,
    () => `    # ${prose.text(50).replaceAll('\n', ' ')}`,
    () => ''
  ]
  return Array.from({ length }, () => prose.pick(kinds)())
}

const timeAt = (ms: number) => `${MINUTE_PLACE}:${(ms / 1_000).toFixed(3).padStart(6, '0')}Z`
