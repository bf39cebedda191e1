/**
 * Converts Codex transcripts (`rollout-*.jsonl`), in the formats of version 0.171.0 and earlier versions.
 *
 * A transcript holds one thread: its `session_meta`, then turns. A turn begins with `task_started` and ends with
 * `task_complete` or `turn_aborted`. A model response's items precede the response's usage record, and the results of
 * tool calls follow the usage record. A subagent is a separate thread with its own transcript. Each turn in a
 * subagent's transcript names its parent turn. A forked thread begins with copied turns. Copied turns are skipped,
 * because the original thread's transcript already contains their steps.
 *
 * Ids: a prompt's id is its turn's id, and a model call's id is the id of the provider's response. Older versions
 * record neither id, so positions in the transcript are used instead. The program's log records do not name turns.
 */
import { stepIdOf, traceIdOf } from '../../otlp/agents/ids.ts'
import type { ReportedCounts } from '../../otlp/token-counts.ts'
import { type Json, stringifyExact } from '../../trace/json/exact-json.ts'
import { inputOf, readFailure, readOutput, textOfItem } from './codex-items.ts'
import { agentRun, FinishedSteps, type Frame, modelCall, NO_RESULT, type OpenTool, toolCall } from './steps.ts'
import {
  type AgentStep,
  type ContentPart,
  type Fields,
  idIn,
  LONG_QUIET_MS,
  type ModelMessage,
  readCount,
  readFields,
  readMs,
  stringIn,
  type Transcript
} from './transcript.ts'

interface Thread {
  readonly id: string
  readonly session: string
  readonly version: string
  readonly provider: string
  readonly agent: string | undefined
  readonly isFork: boolean
  readonly metadata: Readonly<Record<string, string | undefined>>
}

interface Turn extends Frame {
  readonly id: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly startMs: number
  readonly isCopy: boolean
  readonly tools: Map<string, OpenTool>
  /** Failures of tool calls, from events that precede the calls' results. */
  readonly failures: Map<string, string>
  endMs: number
  /** When the agent last had everything it needed for a model call. */
  readyMs: number
  model: string | undefined
  prompt: string | undefined
  /** Messages for the next model call (`news`), and the parts of the model's response so far (`parts`). */
  news: ModelMessage[]
  parts: ContentPart[]
  answer: string | undefined
  calls: number
  error: string | undefined
}

const PROGRAM = 'codex'
/** Matches messages with the role `user` that the program itself sends. */
const CONTEXT = /^<(?:environment_context|user_instructions|permissions)|^# AGENTS\.md/

export class CodexTranscript implements Transcript {
  #thread: Thread | undefined
  #turn: Turn | undefined
  #turns = 0
  /**
   * Whether the transcript records when turns begin (`#hasTasks`) and each response's usage (`#hasUsage`). Old
   * transcripts record neither.
   */
  #hasTasks = false
  #hasUsage = false
  #total: string | undefined
  readonly #steps = new FinishedSteps()

  get isOpen(): boolean {
    return this.#turn !== undefined && !this.#turn.isCopy
  }

  read(line: Json): readonly AgentStep[] {
    const { type, payload, timestamp } = readFields(line)
    const timeMs = readMs(timestamp)
    const fields = readFields(payload)
    if (timeMs === undefined) return []
    if (type === 'session_meta') this.#thread ??= threadOf(fields)
    else if (this.#thread === undefined) return []
    else if (type === 'event_msg') this.#readEvent(this.#thread, fields, timeMs)
    else if (type === 'turn_context') this.#readContext(fields)
    else if (type === 'response_item') this.#readItem(fields, timeMs)
    else if (type === 'token_usage_record') this.#readUsage(this.#thread, fields, timeMs)
    return this.#steps.take()
  }

  settle(quietMs: number): readonly AgentStep[] {
    const turn = this.#turn
    // Old transcripts do not record the ends of turns.
    if (turn === undefined || this.#hasTasks || quietMs < LONG_QUIET_MS) return []
    if (turn.answer !== undefined && turn.tools.size === 0) this.#close(turn, turn.endMs, true)
    return this.#steps.take()
  }

  #readEvent(thread: Thread, event: Fields, timeMs: number): void {
    const { type } = event
    if (type === 'task_started') {
      this.#hasTasks = true
      this.#begin(thread, event, timeMs)
    } else if (type === 'user_message' && !this.#hasTasks) {
      this.#begin(thread, {}, timeMs)
    }
    const turn = this.#turn
    if (turn === undefined) return
    if (type === 'user_message') turn.prompt ??= stringIn(event.message)
    else if (type === 'item_completed') this.#readCompleted(turn, readFields(event.item))
    else if (type === 'token_count') this.#readCount(turn, readFields(event.info), timeMs)
    else if (type === 'error') turn.error = stringIn(event.message)
    else if (type === 'task_complete') {
      turn.answer = idIn(event.last_agent_message) ?? turn.answer
      this.#close(turn, timeMs, turn.error === undefined)
    } else if (type === 'turn_aborted') this.#close(turn, timeMs, false)
    else {
      const failure = readFailure(event)
      if (failure !== undefined) turn.failures.set(stringIn(event.call_id), failure)
    }
  }

  #readCompleted(turn: Turn, item: Fields): void {
    if (item.type === 'UserMessage') turn.prompt ??= textOfItem(item)
    const failure = readFailure(item)
    if (failure !== undefined) turn.failures.set(stringIn(item.id), failure)
  }

  #readContext({ model, turn_id }: Fields): void {
    const turn = this.#turn
    if (turn === undefined || (idIn(turn_id) ?? turn.id) !== turn.id) return
    turn.model = idIn(model) ?? turn.model
  }

  #begin(thread: Thread, event: Fields, timeMs: number): void {
    if (this.#turn !== undefined) this.#close(this.#turn, this.#turn.endMs, this.#turn.answer !== undefined)
    this.#turns++
    const id = idIn(event.turn_id) ?? `turn ${this.#turns}`
    const root = idIn(event.root_turn_id) ?? id
    const parent = idIn(readFields(event.turn_attribution).parent_turn_id)
    const { session, version } = thread
    this.#turn = {
      id,
      traceId: traceIdOf(session, root),
      session,
      program: { name: PROGRAM, version },
      spanId: stepIdOf(session, 'prompt', id),
      parentSpanId: id === root ? undefined : stepIdOf(session, 'prompt', parent ?? root),
      startMs: timeMs,
      isCopy: thread.isFork && isBefore(id, thread.id),
      tools: new Map(),
      failures: new Map(),
      endMs: timeMs,
      readyMs: timeMs,
      model: undefined,
      prompt: undefined,
      news: [],
      parts: [],
      answer: undefined,
      calls: 0,
      error: undefined
    }
  }

  #readItem(item: Fields, timeMs: number): void {
    const turn = this.#turn
    if (turn === undefined) return
    const { type, role, call_id } = item
    if (type === 'message' && role === 'user') {
      const text = textOfItem(item)
      if (!CONTEXT.test(text)) turn.news.push({ role: 'user', parts: [{ type: 'text', content: text }] })
      return
    }
    if (type === 'message' && role !== 'assistant') return
    turn.endMs = timeMs
    const id = idIn(call_id)
    if (type === 'message') {
      turn.answer = textOfItem(item)
      turn.parts.push({ type: 'text', content: turn.answer })
    } else if (type === 'reasoning') {
      const text = textOfItem(item)
      if (text !== '') turn.parts.push({ type: 'reasoning', content: text })
    } else if (id !== undefined && stringIn(type).endsWith('_output')) this.#finishTool(turn, id, item, timeMs)
    else if (id !== undefined && stringIn(type).endsWith('_call')) {
      const name = nameOf(item)
      const input = inputOf(item)
      turn.tools.set(id, { name, input, startMs: timeMs })
      turn.parts.push({ type: 'tool_call', id, name, arguments: input })
    } else if (stringIn(type).endsWith('_call')) turn.parts.push({ ...item, type: stringIn(type) })
  }

  #finishTool(turn: Turn, id: string, item: Fields, timeMs: number): void {
    const tool = turn.tools.get(id)
    if (tool === undefined) return
    const { output, failure } = readOutput(item.output)
    turn.tools.delete(id)
    const error = turn.failures.get(id) ?? failure
    this.#steps.add(turn, toolCall(turn, id, tool, { endMs: timeMs, output, error }))
    turn.news.push({ role: 'tool', parts: [{ type: 'tool_call_response', id, response: output }] })
    turn.readyMs = timeMs
  }

  #readUsage(thread: Thread, record: Fields, timeMs: number): void {
    this.#hasUsage = true
    const turn = this.#turn
    // A forked thread also contains the original thread's records.
    if (turn === undefined || (idIn(record.thread_id) ?? thread.id) !== thread.id) return
    this.#finishCall(turn, idIn(record.response_id), usageOf(readFields(record.usage)), timeMs)
  }

  #readCount(turn: Turn, info: Fields, timeMs: number): void {
    if (this.#hasUsage || info.last_token_usage === undefined) return
    const total = stringifyExact(info.total_token_usage ?? null)
    const isNew = total !== this.#total
    this.#total = total
    // The event is also repeated when only the rate limits have changed.
    if (isNew) this.#finishCall(turn, undefined, usageOf(readFields(info.last_token_usage)), timeMs)
  }

  #finishCall(turn: Turn, responseId: string | undefined, usage: ReportedCounts | undefined, timeMs: number): void {
    turn.calls++
    const { provider } = this.#thread as Thread
    const output = turn.parts.length === 0 ? undefined : { role: 'assistant', parts: turn.parts }
    this.#steps.add(
      turn,
      modelCall(turn, {
        spanId: stepIdOf(turn.session, 'request', responseId ?? `${turn.id} ${turn.calls}`),
        ...{ parentSpanId: turn.spanId, startMs: turn.readyMs, endMs: timeMs },
        ...{ provider, requestModel: turn.model, responseId, input: turn.news, output, usage }
      })
    )
    turn.parts = []
    turn.news = []
    turn.readyMs = timeMs
    turn.endMs = timeMs
  }

  #close(turn: Turn, endMs: number, isFinished: boolean): void {
    this.#turn = undefined
    if (turn.parts.length > 0) this.#finishCall(turn, undefined, undefined, turn.endMs)
    const abandoned = { endMs: turn.endMs, output: undefined, error: NO_RESULT }
    for (const [id, tool] of turn.tools) this.#steps.add(turn, toolCall(turn, id, tool, abandoned))
    const thread = this.#thread as Thread
    const { prompt, answer } = turn
    this.#steps.add(
      turn,
      agentRun(turn, {
        ...{ spanId: turn.spanId, parentSpanId: turn.parentSpanId },
        ...{ startMs: turn.startMs, endMs: Math.max(turn.endMs, endMs), error: turn.error, isFinished },
        agent: thread.agent ?? PROGRAM,
        agentId: thread.id === thread.session ? undefined : thread.id,
        promptId: turn.id,
        input: prompt === undefined ? undefined : { role: 'user', parts: [{ type: 'text', content: prompt }] },
        output: answer === undefined ? undefined : { role: 'assistant', parts: [{ type: 'text', content: answer }] },
        metadata: thread.metadata
      })
    )
  }
}

function threadOf(meta: Fields): Thread {
  const id = stringIn(meta.id)
  const spawn = readFields(readFields(readFields(meta.source).subagent).thread_spawn)
  const isSubagent = meta.parent_thread_id !== undefined || Object.keys(spawn).length > 0
  const name = idIn(meta.agent_role) ?? idIn(spawn.agent_role) ?? idIn(meta.agent_nickname) ?? 'subagent'
  return {
    id,
    session: idIn(meta.session_id) ?? id,
    version: stringIn(meta.cli_version),
    provider: idIn(meta.model_provider) ?? 'openai',
    agent: isSubagent ? name : undefined,
    isFork: meta.forked_from_id !== undefined,
    metadata: {
      cwd: idIn(meta.cwd),
      gitBranch: idIn(readFields(meta.git).branch),
      gitCommit: idIn(readFields(meta.git).commit_hash),
      version: idIn(meta.cli_version),
      originator: idIn(meta.originator)
    }
  }
}

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7/
/** Whether one id was created before another. Version 7 UUIDs begin with their creation time. */
const isBefore = (id: string, other: string): boolean => UUID_7.test(id) && UUID_7.test(other) && id < other

function nameOf({ type, name, namespace }: Fields): string {
  const own = idIn(name) ?? stringIn(type).replace(/_call$/, '')
  return idIn(namespace) === undefined ? own : `${namespace}.${own}`
}

function usageOf(usage: Fields): ReportedCounts {
  return {
    inputTokens: readCount(usage.input_tokens),
    outputTokens: readCount(usage.output_tokens),
    cacheReadTokens: readCount(usage.cached_input_tokens),
    cacheWriteTokens: readCount(usage.cache_write_input_tokens),
    reasoningTokens: readCount(usage.reasoning_output_tokens)
  }
}
