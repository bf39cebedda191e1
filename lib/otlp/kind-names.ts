/**
 * Maps operation names to span kinds. Conventions use different names and libraries spell the names differently, so all
 * names share one table and are compared ignoring case and punctuation.
 */
import type { SPAN_KINDS } from '../schema/input.ts'
import { remembering } from '../trace/remembering.ts'

export type DialectKind = (typeof SPAN_KINDS)[number]

const NAMES: readonly (readonly [DialectKind, ...string[]])[] = [
  ['llm', 'llm', 'chat', 'chat_model', 'chat_completion', 'chat.completions', 'chat.streaming_completions'],
  ['llm', 'completion', 'completions', 'text_completion', 'text.completions', 'streaming_completion'],
  ['llm', 'generate', 'generation', 'generate_content', 'generate_content_stream', 'stream_generate_content'],
  ['llm', 'text_generation', 'generate_text', 'stream_text', 'generate_object', 'stream_object', 'image_generation'],
  [
    'llm',
    'llm_call',
    'llm_request',
    'model_call',
    'model_request',
    'responses',
    'messages',
    'invoke_model',
    'converse'
  ],
  // Sent by the Vercel AI SDK; the conventions do not define these operations.
  ['llm', 'ai.generateSpeech', 'ai.transcribe', 'ai.streamTranscribe'],
  ['agent', 'agent', 'invoke_agent', 'create_agent', 'run_agent', 'agent_run', 'agent_call'],
  ['tool', 'tool', 'execute_tool', 'tool_call', 'call_tool', 'tools/call', 'invoke_tool', 'run_tool', 'use_tool'],
  ['tool', 'tool_execution', 'tool_use', 'function', 'function_call', 'execute_function'],
  ['chain', 'chain', 'workflow', 'invoke_workflow', 'task', 'plan', 'agent_step', 'schedule_tool_calls'],
  ['retriever', 'retriever', 'retrieval', 'retrieve', 'search_memory'],
  ['embedding', 'embedding', 'embeddings', 'embed', 'embed_many', 'create_embeddings'],
  ['reranker', 'reranker', 'rerank', 'reranking']
]

const plainOf = (name: string): string => name.replace(/[^a-z0-9]/gi, '').toLowerCase()

const KINDS = new Map(NAMES.flatMap(([kind, ...names]) => names.map(name => [plainOf(name), kind] as const)))

const UNKNOWN = 'unknown'
const kindOrUnknown = remembering(name => KINDS.get(plainOf(name)) ?? UNKNOWN)

/** Returns an operation's kind; undefined if the operation's name is unknown. */
export function kindByName(name: string): DialectKind | undefined {
  const kind = kindOrUnknown(name)
  return kind === UNKNOWN ? undefined : kind
}
