/**
 * `spoor-client/langchain`: records runs of LangChain and LangGraph as steps, by a callback handler:
 * `chain.invoke(input, { callbacks: [langchainHandler(spoor)] })`. The handler is an object with LangChain's callback
 * methods, so this module does not import LangChain.
 */
import type { SpanKind } from '../record/fields.ts'
import { fail, succeed } from '../record/reading.ts'
import { Span, type SpanOptions, type Step } from '../record/step.ts'
import type { Trace } from '../record/trace.ts'
import { messageOf } from '../record/values.ts'
import type { Spoor } from '../spoor.ts'
import { type CallBody, requireSpoor } from './model-call.ts'
import { isRecord } from './wires/merge.ts'
import { defined, firstCount, tokenCount } from './wires/usage.ts'

/** A run that has begun: its step, and the trace that was started for it if no step was current. */
interface Run {
  readonly step: Step
  readonly trace: Trace | undefined
}

interface Begun {
  readonly runId: string
  readonly parentRunId: string | undefined
  readonly name: string
  readonly kind: SpanKind
  readonly metadata: CallBody
  readonly options: SpanOptions
}

/** Maximum number of runs in progress. A run that never ends is forgotten, and its trace ends with the process. */
const MOST_RUNS = 10_000

/** Returns a callback handler. Its runs become steps of the current step, or traces if there is none. */
export function langchainHandler(spoor: Spoor) {
  requireSpoor('langchainHandler(spoor)', spoor)
  const runs = new Map<string, Run>()

  function begin({ runId, parentRunId, name, kind, metadata, options }: Begun): void {
    const parent = (parentRunId === undefined ? undefined : runs.get(parentRunId)?.step) ?? spoor.current()
    const trace = parent === undefined ? spoor.start(name, { input: options.input, ...peopleOf(metadata) }) : undefined
    // The outermost chain is the trace itself; a model or tool that runs alone is its only step.
    const isTrace = trace !== undefined && kind === 'chain'
    const step = isTrace ? trace : (parent ?? trace!).startSpan(name, { ...options, kind })
    runs.set(runId, { step, trace })
    if (runs.size > MOST_RUNS) runs.delete(runs.keys().next().value!)
  }

  function end(runId: string, conclude: (step: Step) => void): void {
    const run = runs.get(runId)
    runs.delete(runId)
    if (run === undefined) return
    conclude(run.step)
    if (run.trace !== undefined && run.trace !== run.step) conclude(run.trace)
  }

  const ended = (runId: string, output: unknown) => end(runId, step => succeed(step, output))
  const failed = (runId: string, error: unknown) => end(runId, step => fail(step, error))
  /** LangChain reports handlers' errors on the console, but problems belong in `onProblem`. */
  const guarded = <G extends unknown[]>(act: (...given: G) => void) => {
    return (...given: G) => {
      try {
        act(...given)
      } catch (error) {
        spoor.problem(`a LangChain run could not be read: ${messageOf(error)}`)
      }
    }
  }
  const model = guarded((serialized: CallBody, messages: unknown, runId: string, ...rest: CallBody[]) => {
    const [parentRunId, extra, , metadata, runName] = rest
    const { model, model_name, ...attributes } = extra?.invocation_params ?? {}
    const asked = metadata?.ls_model_name ?? model ?? model_name
    const options = { input: messages, model: asked, provider: metadata?.ls_provider, attributes }
    begin({ runId, parentRunId, name: runName ?? nameOf(serialized, 'model'), kind: 'llm', metadata, options })
  })
  const step = (kind: SpanKind, serialized: CallBody, input: unknown, ids: readonly CallBody[]) => {
    const [runId, parentRunId, metadata, runName] = ids
    begin({ runId, parentRunId, name: runName ?? nameOf(serialized, kind), kind, metadata, options: { input } })
  }

  return {
    // Handlers run before the step that they describe, in its context.
    awaitHandlers: true,
    handleChatModelStart: (serialized: CallBody, messages: CallBody, ...rest: [string, ...CallBody[]]) =>
      model(serialized, guardedList(messages)[0]?.map(plainMessage), ...rest),
    handleLLMStart: (serialized: CallBody, prompts: CallBody, ...rest: [string, ...CallBody[]]) =>
      model(serialized, prompts.length === 1 ? prompts[0] : prompts, ...rest),
    handleLLMEnd: guarded((output: CallBody, runId: string) =>
      end(runId, step => succeed(step, describeAnswer(step, output)))
    ),
    handleLLMError: guarded((error: unknown, runId: string) => failed(runId, error)),
    handleChainStart: guarded((serialized: CallBody, inputs: CallBody, ...rest: CallBody[]) => {
      const [runId, parentRunId, , metadata, , runName] = rest
      step('chain', serialized, plain(unwrapped(inputs, 'input')), [runId, parentRunId, metadata, runName])
    }),
    handleChainEnd: guarded((outputs: unknown, runId: string) => ended(runId, plain(unwrapped(outputs, 'output')))),
    handleChainError: guarded((error: unknown, runId: string) => failed(runId, error)),
    handleToolStart: guarded((serialized: CallBody, input: string, ...rest: CallBody[]) => {
      const [runId, parentRunId, , metadata, runName] = rest
      step('tool', serialized, parsed(input), [runId, parentRunId, metadata, runName])
    }),
    handleToolEnd: guarded((output: unknown, runId: string) => ended(runId, plain(output))),
    handleToolError: guarded((error: unknown, runId: string) => failed(runId, error)),
    handleRetrieverStart: guarded((serialized: CallBody, query: string, ...rest: CallBody[]) => {
      const [runId, parentRunId, , metadata, runName] = rest
      step('retriever', serialized, query, [runId, parentRunId, metadata, runName])
    }),
    handleRetrieverEnd: guarded((documents: unknown, runId: string) => ended(runId, documents)),
    handleRetrieverError: guarded((error: unknown, runId: string) => failed(runId, error))
  }
}

/** Returns the session and user that a configuration's metadata names. LangGraph calls a session a thread. */
function peopleOf(metadata: CallBody) {
  const { session_id, thread_id, user_id } = metadata ?? {}
  return { sessionId: session_id ?? thread_id, userId: user_id }
}

const nameOf = (serialized: CallBody, otherwise: string): string =>
  serialized?.name ?? serialized?.id?.at?.(-1) ?? otherwise

const guardedList = (value: unknown): CallBody[] => (Array.isArray(value) ? value : [])

const ROLES: Readonly<Record<string, string>> = { human: 'user', ai: 'assistant' }

/** Returns a message in the form of OpenAI's chats, and any other value as it is. */
function plainMessage(message: CallBody): unknown {
  const type = message?.type ?? message?._getType?.()
  if (typeof type !== 'string' || !('content' in Object(message))) return message
  const { content, name, tool_calls, tool_call_id } = message
  const calls = Array.isArray(tool_calls) && tool_calls.length > 0 ? tool_calls : undefined
  return defined({ role: ROLES[type] ?? type, content, name: name || undefined, tool_calls: calls, tool_call_id })
}

/** Returns inputs and outputs of chains with their messages in plain form. */
function plain(value: CallBody): unknown {
  if (Array.isArray(value)) return value.map(plainMessage)
  const isPlain = isRecord(value) && Object.getPrototypeOf(value) === Object.prototype
  if (!isPlain) return plainMessage(value)
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, Array.isArray(each) ? plain(each) : each])
  )
}

/** Returns the value that LangChain has put into an object, because a chain's inputs and outputs are objects. */
function unwrapped(value: CallBody, name: 'input' | 'output'): unknown {
  return isRecord(value) && Object.keys(value).join() === name ? value[name] : value
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Sets a model's usage and attributes, and returns its output. */
function describeAnswer(step: Step, { generations, llmOutput }: CallBody): unknown {
  const [first] = guardedList(guardedList(generations)[0])
  const message = first?.message
  const { input_token_details: input, output_token_details: output, ...counts } = message?.usage_metadata ?? {}
  const { promptTokens, completionTokens, totalTokens } = llmOutput?.tokenUsage ?? {}
  step.setModel(message?.response_metadata?.model_name ?? message?.response_metadata?.model).setUsage(
    defined({
      inputTokens: firstCount(counts.input_tokens, promptTokens),
      outputTokens: firstCount(counts.output_tokens, completionTokens),
      totalTokens: firstCount(counts.total_tokens, totalTokens)
    })
  )
  if (step instanceof Span) {
    step.setAttributes(
      defined({
        'response.id': message?.id,
        finish_reason: message?.response_metadata?.finish_reason,
        cache_read_input_tokens: tokenCount(input?.cache_read),
        cache_creation_input_tokens: tokenCount(input?.cache_creation),
        reasoning_tokens: tokenCount(output?.reasoning)
      })
    )
  }
  return message === undefined ? first?.text : plainMessage(message)
}
