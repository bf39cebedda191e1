/** Describes coding agents' steps with the attribute names of OpenTelemetry's conventions for generative AI. */
import { stepIdOf } from '../../otlp/agents/ids.ts'
import type { ReportedCounts } from '../../otlp/token-counts.ts'
import { type Json, stringifyExact } from '../../trace/json/exact-json.ts'
import { type AgentStep, type ModelMessage, type Program, type StepAttributes, shortened } from './transcript.ts'

/** Fields shared by all steps of a prompt. */
export interface Frame {
  readonly traceId: string
  readonly session: string
  readonly program: Program
}

interface Times {
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly startMs: number
  readonly endMs: number
  /** The error message; undefined unless the step failed. */
  readonly error?: string | undefined
}

export interface ModelCall extends Times {
  readonly provider: string
  readonly requestModel: string | undefined
  readonly responseModel?: string | undefined
  readonly responseId: string | undefined
  readonly requestId?: string | undefined
  /**
   * Messages added since the previous call. Earlier messages, which the agent sends again with each call, are left out.
   */
  readonly input: readonly ModelMessage[]
  readonly output: ModelMessage | undefined
  /** Token counts, with cached and reasoning tokens included in the input and the output. */
  readonly usage: ReportedCounts | undefined
}

export function modelCall(frame: Frame, call: ModelCall): AgentStep {
  const { provider, requestModel, responseModel, responseId, requestId, input, output, usage } = call
  const model = requestModel ?? responseModel
  return stepOf(frame, call, model === undefined ? 'chat' : `chat ${model}`, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': requestModel,
    'gen_ai.response.model': responseModel,
    'gen_ai.response.id': responseId,
    'gen_ai.response.finish_reasons': output?.finish_reason === undefined ? undefined : [output.finish_reason],
    request_id: requestId,
    'gen_ai.usage.input_tokens': usage?.inputTokens,
    'gen_ai.usage.output_tokens': usage?.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage?.cacheReadTokens,
    'gen_ai.usage.cache_creation.input_tokens': usage?.cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': usage?.reasoningTokens,
    'gen_ai.input.messages': messagesOf(input),
    'gen_ai.output.messages': output && messagesOf([output])
  })
}

/** A tool call without a result so far. */
export interface OpenTool {
  readonly name: string
  /** The tool's input: JSON, or a string. */
  readonly input: Json
  readonly startMs: number
}

interface ToolEnd {
  readonly endMs: number
  /** The tool's result; undefined if the transcript has none. */
  readonly output: Json
  readonly error: string | undefined
}

/** Returns the step for a tool call that the run with the span `spanId` made. */
export function toolCall(run: Frame & { readonly spanId: string }, callId: string, tool: OpenTool, end: ToolEnd) {
  const { name, input, startMs } = tool
  const { output, ...ended } = end
  const times = { spanId: stepIdOf(run.session, 'tool', callId), parentSpanId: run.spanId, startMs, ...ended }
  return stepOf(run, times, `execute_tool ${name}`, {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.call.id': callId,
    'gen_ai.tool.call.arguments': typeof input === 'string' || input === undefined ? input : stringifyExact(input),
    // A result such as `1` is text. The result is quoted so that readers that parse JSON still read text.
    'gen_ai.tool.call.result': output === undefined ? undefined : stringifyExact(output)
  })
}

export interface AgentRun extends Times {
  readonly agent: string
  readonly agentId?: string | undefined
  readonly promptId: string | undefined
  readonly isFinished: boolean
  readonly input: ModelMessage | undefined
  readonly output: ModelMessage | undefined
  readonly metadata: Readonly<Record<string, string | undefined>>
}

/** Returns the step for a subagent's run, or for a prompt's run. The latter step is the root of the prompt's trace. */
export function agentRun(frame: Frame, run: AgentRun): AgentStep {
  const { agent, agentId, promptId, isFinished, input, output, metadata, parentSpanId } = run
  const step = stepOf(frame, run, `invoke_agent ${agent}`, {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': agent,
    'gen_ai.agent.id': agentId,
    'prompt.id': promptId,
    'gen_ai.input.messages': input && messagesOf([input]),
    'gen_ai.output.messages': output && messagesOf([output]),
    metadata: parentSpanId === undefined ? JSON.stringify(metadata) : undefined
  })
  return step.status === 'ok' && !isFinished ? { ...step, status: 'unset' } : step
}

function stepOf(frame: Frame, times: Times, name: string, attributes: StepAttributes): AgentStep {
  const { traceId, session, program } = frame
  const { spanId, parentSpanId, startMs, endMs, error } = times
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    startMs: Math.min(startMs, endMs),
    endMs,
    status: error === undefined ? 'ok' : 'error',
    message: shortened(error ?? ''),
    attributes: { ...attributes, 'gen_ai.conversation.id': session, 'session.id': session },
    program
  }
}

const messagesOf = (messages: readonly ModelMessage[]): string | undefined =>
  messages.length === 0 ? undefined : stringifyExact(messages)

/** Error message of a tool call that still had no result when its prompt ended. */
export const NO_RESULT = 'the transcript has no result for this call'

/** Collects finished steps until they are taken. Steps of copied turns are dropped. */
export class FinishedSteps {
  #steps: AgentStep[] = []

  add(turn: { readonly isCopy: boolean }, step: AgentStep): void {
    if (!turn.isCopy) this.#steps.push(step)
  }

  take(): readonly AgentStep[] {
    return this.#steps.splice(0)
  }
}
