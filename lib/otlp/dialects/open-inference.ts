/** OpenInference: Arize's conventions, in Phoenix and in instrumentations of many frameworks. */

import { type Dialect, indexed, kindBy, loose, type Source } from '../dialect.ts'
import { freeForm } from '../wire/attribute-values.ts'

export const openInference: Dialect = {
  kind: kindBy(
    'openinference.span.kind',
    {
      LLM: 'llm',
      AGENT: 'agent',
      TOOL: 'tool',
      CHAIN: 'chain',
      RETRIEVER: 'retriever',
      EMBEDDING: 'embedding',
      RERANKER: 'reranker'
    },
    'custom'
  ),
  model: [
    'llm.response.model_name',
    'llm.model_name',
    'llm.request.model_name',
    'embedding.model_name',
    'reranker.model_name'
  ],
  provider: ['llm.provider', 'llm.system'],
  inputTokens: ['llm.token_count.prompt'],
  outputTokens: ['llm.token_count.completion'],
  totalTokens: ['llm.token_count.total'],
  cost: ['llm.cost.total'],
  costParts: ['llm.cost.prompt', 'llm.cost.completion'],
  raw: ['input.value', 'output.value'],
  input: [
    structured(indexed('llm.input_messages')),
    structured(loose('reranker.query')),
    payload('input'),
    indexed('llm.input_messages'),
    loose('tool.parameters'),
    loose('reranker.query'),
    indexed('reranker.input_documents')
  ],
  output: [
    structured(indexed('llm.output_messages')),
    structured(indexed('retrieval.documents')),
    structured(indexed('reranker.output_documents')),
    payload('output'),
    indexed('llm.output_messages'),
    indexed('retrieval.documents'),
    indexed('reranker.output_documents')
  ],
  names: { agent: ['agent.name'], tool: ['tool.name'] },
  trace: {
    rootName: ['agent.name'],
    sessionId: ['session.id'],
    userId: ['user.id'],
    tags: ['tag.tags'],
    metadata: ['metadata']
  }
}

/**
 * The kinds of spans whose `input.value` and `output.value` are often dumps, such as the constructors of LangChain's
 * messages or what Python prints of an object. There the structured form comes first.
 */
const DUMPING = ['LLM', 'RETRIEVER', 'RERANKER']

function structured(source: Source): Source {
  return (fields, events) =>
    DUMPING.includes(String(fields.get('openinference.span.kind'))) ? source(fields, events) : undefined
}

/** Reads `input.value` (or `output.value`); the attribute `input.mime_type` says whether it is JSON. */
function payload(side: 'input' | 'output'): Source {
  return fields => {
    const found = fields.find([`${side}.value`])
    if (found === undefined) return undefined
    const type = fields.get(`${side}.mime_type`)
    fields.take(`${side}.value`)
    fields.take(`${side}.mime_type`)
    return freeForm(found.value, type === 'application/json' ? 'json' : type === 'text/plain' ? 'text' : 'loose')
  }
}
