/** OpenLLMetry, Traceloop's conventions. Its instrumentations also send OpenTelemetry's attributes. */
import { type Dialect, json, kindBy } from '../dialect.ts'
import type { Fields } from '../fields.ts'

const byEntity = kindBy('traceloop.span.kind')
const byRequest = kindBy('llm.request.type')
/** Databases used only for similarity search, so spans that query them have the kind retriever. */
const VECTOR_DATABASES = ['chroma', 'lancedb', 'marqo', 'milvus', 'pinecone', 'qdrant', 'weaviate']

export const openLlmetry: Dialect = {
  kind: fields => byRequest(fields) ?? byEntity(fields) ?? (isVectorQuery(fields) ? 'retriever' : undefined),
  totalTokens: ['llm.usage.total_tokens'],
  cacheReadTokens: ['llm.usage.cache_read_input_tokens'],
  cacheWriteTokens: ['llm.usage.cache_creation_input_tokens'],
  reasoningTokens: ['llm.usage.reasoning_tokens'],
  input: [json('traceloop.entity.input')],
  output: [json('traceloop.entity.output')],
  names: {
    agent: ['traceloop.entity.name'],
    tool: ['traceloop.entity.name'],
    chain: ['traceloop.entity.name']
  },
  trace: {
    name: ['traceloop.workflow.name'],
    sessionId: ['traceloop.association.properties.session_id'],
    userId: ['traceloop.association.properties.user_id', 'llm.user'],
    metadataPrefixes: ['traceloop.association.properties.']
  }
}

function isVectorQuery(fields: Fields): boolean {
  if (fields.has('db.vector.query.top_k')) return true
  const system = fields.get('db.system')
  return typeof system === 'string' && VECTOR_DATABASES.includes(system.toLowerCase())
}
