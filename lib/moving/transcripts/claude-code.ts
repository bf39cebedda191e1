/**
 * Converts Claude Code transcripts, in the formats of version 2.1.332 and earlier versions.
 *
 * The file `<session>.jsonl` has a line for each prompt, each block of each model message and each tool result, and
 * many lines that are irrelevant to traces. A subagent has its own file, `<session>/subagents/agent-<id>.jsonl`. In old
 * versions, a subagent's lines are in the session's file. Each prompt, and each task of a subagent, is a turn.
 *
 * Ids: `promptId` and `requestId` equal `prompt.id` and `request_id` in the program's log records. If a prompt's line
 * has no `promptId`, as in older versions, its `uuid` is used. A forked session begins with copied lines. Copied lines
 * are skipped, because the original session's transcript already contains their steps.
 */
import { stepIdOf, traceIdOf } from '../../otlp/agents/ids.ts'
import type { Json } from '../../trace/json/exact-json.ts'
import { sumKnown } from '../../trace/span-sums.ts'
import { contentOf, type OpenMessage, partsOf, readResult } from './claude-messages.ts'
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
  SHORT_QUIET_MS,
  stringIn,
  type Transcript
} from './transcript.ts'

/** Facts about a subagent, read from its `agent-<id>.meta.json`. */
export interface Subagent {
  /** Id of the tool call that started the subagent. */
  readonly toolUseId: string | undefined
  readonly type: string | undefined
  readonly isFinished: boolean
}

/** A prompt or a subagent's task, with everything the agent does until the next prompt or task. */
interface Turn extends Frame {
  readonly spanId: string
  readonly promptId: string | undefined
  /**
   * Parent of a subagent's task if the transcript lacks the tool call that started the task. Undefined for a trace's
   * root.
   */
  readonly promptSpanId: string | undefined
  readonly toolSpanId: string | undefined
  readonly agent: string | undefined
  readonly agentId: string | undefined
  readonly startMs: number
  readonly input: ModelMessage | undefined
  readonly text: string
  readonly metadata: Readonly<Record<string, string | undefined>>
  readonly tools: Map<string, OpenTool>
  /** Ids of the messages that were returned as steps. */
  readonly returned: Set<string>
  isCopy: boolean
  endMs: number
  /** When the agent last had everything it needed for a model call. */
  readyMs: number
  news: ModelMessage[]
  answer: ModelMessage | undefined
  isClosed: boolean
}

interface Stream {
  turn: Turn | undefined
  open: OpenMessage | undefined
}

const PROGRAM = 'claude-code'
const PROVIDER = 'anthropic'
const MAIN = ''
/** The model named in messages that the agent itself wrote. */
const SYNTHETIC = '<synthetic>'
const INTERRUPTED = '[Request interrupted by user'
/** Matches the output of a command that calls no model. */
const OUTPUT_OF_COMMAND = /^<(?:local-command-|bash-)/
/** Matches a command. A command counts as a prompt only if it causes a model call. */
const COMMAND = /^<command-/
/** A line that predates its session by more than this is a copy. */
const COPY_MS = 1000
/** Stop reasons after which the agent continues, even if the message calls no tool. */
const GOES_ON = ['tool_use', 'max_tokens', 'pause_turn']
/** Stop reasons that end a prompt. In old transcripts, a message's first lines lack a stop reason. */
const ENDS = ['end_turn', 'stop_sequence', 'refusal']

export class ClaudeCodeTranscript implements Transcript {
  /** The subagent that wrote the file. The file's reader sets this field once the subagent is known. */
  subagent: Subagent | undefined
  readonly #streams = new Map<string, Stream>()
  /** When each model call began, by the id that message lines contain as `requestRef`. */
  readonly #requests = new Map<string, number>()
  /** The message to which a request id belongs. Some gateways repeat ids. */
  readonly #messages = new Map<string, string>()
  readonly #prompts = new Set<string>()
  /** Subagents of lines that name no subagent, by line id. */
  readonly #asides = new Map<string, string>()
  /** Time of the first line that the session itself wrote. Earlier lines are copies. */
  #beganMs: number | undefined
  readonly #steps = new FinishedSteps()

  get isOpen(): boolean {
    return [...this.#streams.values()].some(
      ({ turn, open }) =>
        turn !== undefined && !turn.isClosed && !turn.isCopy && (open !== undefined || !isUnheard(turn))
    )
  }

  read(line: Json): readonly AgentStep[] {
    const fields = readFields(line)
    const timeMs = readMs(fields.timestamp)
    if (fields.type === 'queue-operation' && this.#streams.size === 0) this.#beganMs ??= timeMs
    if (fields.type === 'api-request' && timeMs !== undefined) this.#requests.set(stringIn(fields.id), timeMs)
    if (fields.type === 'attachment') this.#readAttachment(fields)
    if (fields.type === 'cost-state') for (const stream of this.#streams.values()) this.#endOf(stream)
    const isStep = fields.type === 'user' || fields.type === 'assistant' || fields.type === 'system'
    if (isStep && timeMs !== undefined) {
      const stream = this.#streamOf(fields)
      if (fields.type === 'user') this.#readUser(stream, fields, timeMs)
      else if (fields.type === 'assistant') this.#readAssistant(stream, fields, timeMs)
      else this.#endOf(stream)
    }
    return this.#steps.take()
  }

  settle(quietMs: number): readonly AgentStep[] {
    for (const stream of this.#streams.values()) {
      const { open } = stream
      // A message with text is complete. Any other message may receive more lines, after a pause of any length.
      if (open === undefined || !isLast(open) || !hasText(open)) continue
      const hasEnded = ENDS.includes(open.stopReason ?? '')
      const neededMs = !hasEnded ? LONG_QUIET_MS : this.subagent?.isFinished ? 0 : SHORT_QUIET_MS
      if (quietMs >= neededMs) this.#complete(stream)
    }
    return this.#steps.take()
  }

  /** Returns the stream that a line belongs to: the session's stream or a subagent's stream. */
  #streamOf(line: Fields): Stream {
    const name = line.isSidechain === true ? (idIn(line.agentId) ?? this.#asideOf(line)) : MAIN
    const known = this.#streams.get(name)
    if (known !== undefined) return known
    const stream = { turn: undefined, open: undefined }
    this.#streams.set(name, stream)
    return stream
  }

  /** Finds a line's subagent through the line's parent, because lines of old transcripts do not name their subagent. */
  #asideOf({ uuid, parentUuid }: Fields): string {
    const aside = this.#asides.get(stringIn(parentUuid)) ?? `aside ${stringIn(uuid)}`
    this.#asides.set(stringIn(uuid), aside)
    return aside
  }

  #readUser(stream: Stream, line: Fields, timeMs: number): void {
    const { results, parts, text } = contentOf(readFields(line.message).content)
    for (const result of results) this.#finishTool(stream, readFields(result), timeMs)
    if (results.length > 0 && parts.length === 0) return
    const { turn } = stream
    const message: ModelMessage = { role: 'user', parts }
    if (text.startsWith(INTERRUPTED)) {
      this.#complete(stream)
      if (turn !== undefined) this.#close(turn, timeMs, false)
      return
    }
    if (OUTPUT_OF_COMMAND.test(text)) return
    this.#endOf(stream)
    const isAddition = line.isMeta === true || line.isCompactSummary === true || results.length > 0
    if (turn !== undefined && (isAddition || isSteering(stream, turn, line))) {
      turn.news.push(message)
      turn.readyMs = timeMs
      return
    }
    if (turn !== undefined) this.#leave(stream, turn)
    stream.turn = this.#begin(line, timeMs, isAddition ? undefined : message, text)
  }

  /** Adds a message that the user sent while the agent was working and that the agent read before the prompt ended. */
  #readAttachment(line: Fields): void {
    const { type, prompt } = readFields(line.attachment)
    if (type !== 'queued_command') return
    const { parts } = contentOf(prompt)
    this.#streamOf(line).turn?.news.push({ role: 'user', parts })
  }

  #begin(line: Fields, timeMs: number, input: ModelMessage | undefined, text: string): Turn {
    const session = stringIn(line.sessionId)
    const isAside = line.isSidechain === true
    const uuid = stringIn(line.uuid)
    const own = this.#streams.get(MAIN)?.turn
    const named = idIn(line.promptId) ?? (isAside ? own?.promptId : undefined)
    // A forked session rewrites the prompt ids of copied lines, so several prompts may have the same id.
    const isTaken = named === undefined || (!isAside && this.#prompts.has(named))
    const promptId = isTaken ? uuid : named
    const isRoot = !isAside || named === undefined
    const isCopy = this.#beganMs !== undefined && timeMs < this.#beganMs - COPY_MS
    if (isRoot && !isCopy && input !== undefined) this.#prompts.add(promptId)
    const promptSpanId = stepIdOf(session, 'prompt', promptId)
    const caller = isAside ? callerOf(own, text) : undefined
    return {
      traceId: traceIdOf(session, promptId),
      session,
      program: { name: PROGRAM, version: stringIn(line.version) },
      spanId: isRoot ? promptSpanId : stepIdOf(session, 'prompt', uuid),
      promptId: input === undefined ? undefined : promptId,
      promptSpanId: isRoot ? undefined : promptSpanId,
      toolSpanId: isRoot || caller === undefined ? undefined : stepIdOf(session, 'tool', caller.id),
      agent: isAside ? (caller?.agent ?? 'subagent') : undefined,
      agentId: isAside ? idIn(line.agentId) : undefined,
      startMs: timeMs,
      input,
      text,
      metadata: {
        cwd: idIn(line.cwd),
        gitBranch: idIn(line.gitBranch),
        version: idIn(line.version),
        entrypoint: idIn(line.entrypoint)
      },
      tools: new Map(),
      returned: new Set(),
      isCopy,
      endMs: timeMs,
      readyMs: timeMs,
      news: input === undefined ? [] : [input],
      answer: undefined,
      isClosed: false
    }
  }

  #readAssistant(stream: Stream, line: Fields, timeMs: number): void {
    const { turn } = stream
    if (turn === undefined) return
    const message = readFields(line.message)
    const parts = partsOf(message.content)
    if (message.model === SYNTHETIC) {
      this.#complete(stream)
      if (line.isApiErrorMessage === true) this.#fail(turn, line, parts, timeMs)
      return
    }
    const id = idIn(message.id) ?? stringIn(line.uuid)
    if (stream.open !== undefined && stream.open.id !== id) this.#complete(stream)
    for (const part of parts) {
      if (part.type !== 'tool_call') continue
      const { id, name, arguments: input } = part
      turn.tools.set(stringIn(id), { name: stringIn(name), input, startMs: timeMs })
    }
    // This line is late. The transcript showed its message as complete, so the message was already returned as a step.
    if (turn.returned.has(id)) return
    stream.open ??= this.#open(turn, line, id, timeMs)
    const { open } = stream
    open.parts.push(...parts)
    open.endMs = timeMs
    open.stopReason = idIn(message.stop_reason) ?? open.stopReason
    open.model = idIn(message.model) ?? open.model
    // Each line repeats the message's usage so far.
    for (const [name, value] of Object.entries(readFields(message.usage))) {
      const count = readCount(value)
      if (count !== undefined) open.usage.set(name, Math.max(count, open.usage.get(name) ?? 0))
    }
    turn.endMs = Math.max(turn.endMs, timeMs)
  }

  #open(turn: Turn, line: Fields, id: string, timeMs: number): OpenMessage {
    const reference = idIn(line.requestRef)
    const beganMs = reference === undefined ? undefined : this.#requests.get(reference)
    // A message that refers to an unknown request is a copy. The request is in the original session's transcript.
    if (reference !== undefined && beganMs === undefined && turn.returned.size === 0) {
      turn.isCopy = true
      this.#prompts.delete(turn.promptId ?? '')
    }
    const requestId = idIn(line.requestId)
    const isOwn = requestId !== undefined && (this.#messages.get(requestId) ?? id) === id
    if (isOwn) this.#messages.set(requestId, id)
    const news = turn.news
    turn.news = []
    return {
      id,
      callId: isOwn ? requestId : id,
      requestId,
      requestModel: idIn(line.requestedModel),
      startMs: Math.min(beganMs ?? turn.readyMs, timeMs),
      news,
      parts: [],
      usage: new Map(),
      model: undefined,
      stopReason: undefined,
      endMs: timeMs
    }
  }

  /**
   * Completes the open message if that message ends its turn. The line just read does not belong to that message, so no
   * more lines of that message follow.
   */
  #endOf(stream: Stream): void {
    if (stream.open !== undefined && isLast(stream.open)) this.#complete(stream)
  }

  #complete(stream: Stream): void {
    const { open, turn } = stream
    if (open === undefined || turn === undefined) return
    stream.open = undefined
    turn.returned.add(open.id)
    const output = { role: 'assistant', parts: open.parts, finish_reason: open.stopReason }
    const { usage } = open
    const cached = [usage.get('cache_read_input_tokens'), usage.get('cache_creation_input_tokens')] as const
    this.#steps.add(
      turn,
      modelCall(turn, {
        ...{ spanId: stepIdOf(turn.session, 'request', open.callId), parentSpanId: turn.spanId },
        ...{ startMs: open.startMs, endMs: open.endMs },
        provider: PROVIDER,
        requestModel: open.requestModel ?? open.model,
        responseModel: open.model,
        responseId: open.id,
        requestId: open.requestId,
        input: open.news,
        output,
        usage:
          usage.size === 0
            ? undefined
            : {
                inputTokens: sumKnown([usage.get('input_tokens'), ...cached]) ?? undefined,
                outputTokens: usage.get('output_tokens'),
                cacheReadTokens: cached[0],
                cacheWriteTokens: cached[1]
              }
      })
    )
    const texts = open.parts.filter(({ type }) => type === 'text')
    if (texts.length > 0) turn.answer = { ...output, parts: texts }
    if (isLast(open)) this.#close(turn, open.endMs, true)
  }

  /** Ends the turn with a model call that failed and will not be retried. */
  #fail(turn: Turn, line: Fields, parts: ContentPart[], timeMs: number): void {
    const error = parts.map(({ content }) => stringIn(content)).join('\n')
    const requestId = idIn(line.requestId)
    const uuid = stringIn(line.uuid)
    const isOwn = requestId !== undefined && !this.#messages.has(requestId)
    if (isOwn) this.#messages.set(requestId, uuid)
    this.#steps.add(
      turn,
      modelCall(turn, {
        spanId: stepIdOf(turn.session, 'request', isOwn ? requestId : uuid),
        ...{ parentSpanId: turn.spanId, startMs: turn.readyMs, endMs: timeMs, error },
        ...{ provider: PROVIDER, requestModel: undefined, responseId: undefined, requestId },
        ...{ input: turn.news, output: undefined, usage: undefined }
      })
    )
    turn.returned.add(uuid)
    turn.news = []
    this.#close(turn, timeMs, false, error)
  }

  #finishTool(stream: Stream, result: Fields, timeMs: number): void {
    const { turn } = stream
    const id = stringIn(result.tool_use_id)
    const tool = turn?.tools.get(id)
    if (turn === undefined || tool === undefined) return
    const output = readResult(result.content)
    turn.tools.delete(id)
    const error = result.is_error === true ? stringIn(output) : undefined
    this.#steps.add(turn, toolCall(turn, id, tool, { endMs: timeMs, output, error }))
    turn.news.push({ role: 'tool', parts: [{ type: 'tool_call_response', id, response: output }] })
    turn.readyMs = timeMs
    turn.endMs = Math.max(turn.endMs, timeMs)
  }

  /** Ends a turn because the next turn begins. Tool calls that still have no result have been abandoned. */
  #leave(stream: Stream, turn: Turn): void {
    this.#complete(stream)
    const abandoned = { endMs: turn.endMs, output: undefined, error: NO_RESULT }
    for (const [id, tool] of turn.tools) this.#steps.add(turn, toolCall(turn, id, tool, abandoned))
    turn.tools.clear()
    if (!isUnheard(turn)) this.#close(turn, turn.endMs, false)
  }

  #close(turn: Turn, endMs: number, isFinished: boolean, error?: string): void {
    if (turn.isClosed) return
    turn.isClosed = true
    const { subagent } = this
    const isRoot = turn.promptSpanId === undefined
    const toolSpanId = subagent?.toolUseId && stepIdOf(turn.session, 'tool', subagent.toolUseId)
    this.#steps.add(
      turn,
      agentRun(turn, {
        spanId: turn.spanId,
        parentSpanId: isRoot ? undefined : (toolSpanId ?? turn.toolSpanId ?? turn.promptSpanId),
        ...{ startMs: turn.startMs, endMs: Math.max(turn.endMs, endMs), error, isFinished },
        agent: turn.agent === undefined ? PROGRAM : (subagent?.type ?? turn.agent),
        agentId: turn.agentId,
        promptId: turn.promptId,
        input: turn.input,
        output: turn.answer,
        metadata: turn.metadata
      })
    )
  }
}

/** Whether the turn called no model, and either is a command or has no prompt. */
const isUnheard = ({ returned, input, text }: Turn): boolean =>
  returned.size === 0 && (input === undefined || COMMAND.test(text))

/** Whether a user's line belongs to the current turn because the user sent it while the agent was working. */
const isSteering = ({ open }: Stream, turn: Turn, { promptId }: Fields): boolean =>
  !turn.isClosed &&
  (open !== undefined || turn.returned.size > 0) &&
  promptId !== undefined &&
  promptId === turn.promptId &&
  !turn.isCopy

/**
 * Whether the message ends its turn: the message calls no tool, and has text or a stop reason that ends a prompt. A
 * hook can make the agent continue. Later steps join the trace, but the trace's root has already been returned and does
 * not change.
 */
const isLast = ({ parts, stopReason }: OpenMessage): boolean =>
  !parts.some(({ type }) => type === 'tool_call') &&
  !GOES_ON.includes(stopReason ?? '') &&
  (ENDS.includes(stopReason ?? '') || hasText({ parts }))

const hasText = ({ parts }: Pick<OpenMessage, 'parts'>): boolean => parts.some(({ type }) => type === 'text')

/** Returns the id of the tool call that gave a subagent this task, and the subagent's type. */
function callerOf(turn: Turn | undefined, task: string): { id: string; agent: string | undefined } | undefined {
  for (const [id, { input }] of turn?.tools ?? []) {
    const { prompt, subagent_type } = readFields(input)
    if (prompt === task) return { id, agent: idIn(subagent_type) }
  }
  return undefined
}
