/**
 * The Vercel AI SDK up to version 6. Version 7 uses the SDK's own names only for `runtimeContext`, embeddings and
 * rankings.
 */
import type { Json } from '../../trace/json/exact-json.ts'
import { type AttributeSource, composed, type Dialect, json } from '../dialect.ts'
import { readForm } from '../wire/attribute-values.ts'

const WRAPPERS: ReadonlySet<string> = new Set(
  ['generateText', 'streamText', 'generateObject', 'streamObject', 'embed', 'embedMany', 'rerank'].map(
    name => `ai.${name}`
  )
)

export const vercelAi: Dialect = {
  /** Outer spans repeat the usage of the spans they wrap, so an outer span's kind is never llm. */
  kind(fields) {
    const operation = fields.get('ai.operationId')
    if (typeof operation !== 'string') return undefined
    if (/\.do(Generate|Stream)$/.test(operation)) return 'llm'
    if (operation.endsWith('.doEmbed')) return 'embedding'
    if (operation.endsWith('.doRerank')) return 'reranker'
    if (WRAPPERS.has(operation)) return 'chain'
    return operation === 'ai.toolCall' ? 'tool' : undefined
  },
  model: ['ai.response.model', 'gen_ai.response.model', 'ai.model.id'],
  provider: ['ai.model.provider'],
  inputTokens: ['ai.usage.promptTokens', 'ai.usage.inputTokens'],
  outputTokens: ['ai.usage.completionTokens', 'ai.usage.outputTokens'],
  totalTokens: ['ai.usage.totalTokens', 'ai.usage.tokens'],
  cacheReadTokens: ['ai.usage.inputTokenDetails.cacheReadTokens', 'ai.usage.cachedInputTokens'],
  cacheWriteTokens: ['ai.usage.inputTokenDetails.cacheWriteTokens'],
  reasoningTokens: ['ai.usage.outputTokenDetails.reasoningTokens', 'ai.usage.reasoningTokens'],
  input: [
    json('ai.prompt.messages'),
    json('ai.prompt'),
    json('ai.toolCall.args'),
    listOfJson('ai.values'),
    json('ai.value'),
    listOfJson('ai.documents')
  ],
  output: [
    answer('ai.response.text', 'ai.response.toolCalls'),
    json('ai.response.object'),
    json('ai.toolCall.result'),
    answer('ai.result.text', 'ai.result.toolCalls'),
    json('ai.result.object'),
    listOfJson('ai.embeddings'),
    json('ai.embedding'),
    listOfJson('ai.ranking')
  ],
  names: { tool: ['ai.toolCall.name'] },
  trace: {
    rootName: ['ai.telemetry.functionId'],
    sessionId: ['ai.telemetry.metadata.sessionId', 'ai.settings.context.sessionId'],
    userId: ['ai.telemetry.metadata.userId', 'ai.settings.context.userId'],
    tags: ['ai.telemetry.metadata.tags', 'ai.settings.context.tags'],
    metadataPrefixes: ['ai.telemetry.metadata.', 'ai.settings.context.']
  }
}

/** Returns the response's text, or an object with the text and the tool calls if the model called tools. */
function answer(text: string, toolCalls: string): AttributeSource {
  return composed((fields): Json => {
    const said = fields.takeFirst([text])
    const calls = fields.takeFirst([toolCalls])
    if (calls === undefined) return said
    return { ...(said !== undefined && { text: said }), toolCalls: readForm(calls, 'json') }
  })
}

/** Reads a list whose items are JSON text. */
function listOfJson(name: string): AttributeSource {
  return composed((fields): Json => {
    const found = fields.takeFirst([name])
    return Array.isArray(found) ? found.map(item => readForm(item, 'json')) : readForm(found, 'json')
  })
}
