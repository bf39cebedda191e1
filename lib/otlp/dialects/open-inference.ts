/** OpenInference is a set of conventions by Arize, used by Phoenix and by instrumentations of many frameworks. */

import type { Json } from '../../trace/json/exact-json.ts'
import { isRepetition } from '../content/repetition.ts'
import { type AttributeSource, type Dialect, indexed, kindBy, loose } from '../dialect.ts'
import type { Fields } from '../fields.ts'
import type { DialectKind } from '../kind-names.ts'
import { freeForm, freeObject, readForm, type TextForm } from '../wire/attribute-values.ts'

type Side = 'input' | 'output'
/** The structured form of an input or output, in which each message or document has its own attributes. */
const STRUCTURED: Readonly<Record<Side, readonly AttributeSource[]>> = {
  input: [indexed('llm.input_messages'), rerankerInput],
  output: [indexed('llm.output_messages'), indexed('retrieval.documents'), indexed('reranker.output_documents')]
}
/** Prefixes of attributes that belong only to the input's or only to the output's structured form. */
const PREFIXES: Readonly<Record<Side, readonly string[]>> = {
  input: ['llm.input_messages.', 'reranker.input_documents.', 'reranker.query'],
  output: ['llm.output_messages.', 'retrieval.documents.', 'reranker.output_documents.']
}
/** Kinds whose `input.value` is often a hard-to-read printed object. */
const STRUCTURED_KINDS: ReadonlySet<DialectKind> = new Set<DialectKind>(['llm', 'retriever', 'reranker'])

export const openInference: Dialect = {
  kind: kindBy('openinference.span.kind'),
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
  cacheReadTokens: ['llm.token_count.prompt_details.cache_read', 'llm.token_count.prompt_details.cache_input'],
  cacheWriteTokens: ['llm.token_count.prompt_details.cache_write'],
  reasoningTokens: ['llm.token_count.completion_details.reasoning'],
  cost: ['llm.cost.total'],
  costParts: ['llm.cost.prompt', 'llm.cost.completion'],
  raw: ['input.value', 'output.value'],
  input: [
    structuredFirst('input'),
    payload('input'),
    indexed('llm.input_messages'),
    loose('tool.parameters'),
    rerankerInput
  ],
  output: [structuredFirst('output'), payload('output'), ...STRUCTURED.output],
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
 * Reads `input.value` or `output.value`. The `input.mime_type` or `output.mime_type` attribute says whether the value
 * is JSON.
 */
function payload(side: Side): AttributeSource {
  return fields => {
    const found = fields.find([`${side}.value`])
    if (found === undefined) return undefined
    takePayload(fields, side)
    return freeForm(found.value, formOf(fields, side))
  }
}

function takePayload(fields: Fields, side: Side): void {
  fields.take(`${side}.value`)
  fields.take(`${side}.mime_type`)
}

function formOf(fields: Fields, side: Side): TextForm {
  const type = fields.get(`${side}.mime_type`)
  return type === 'application/json' ? 'json' : type === 'text/plain' ? 'text' : 'loose'
}

/**
 * Reads the structured form of a span that calls a model, retrieves documents or ranks documents. An `input.value` or
 * `output.value` that adds nothing to the structured form is dropped; otherwise the value stays an attribute.
 */
function structuredFirst(side: Side): AttributeSource {
  return (fields, events, kind) => {
    if (!STRUCTURED_KINDS.has(kind)) return undefined
    for (const source of STRUCTURED[side]) {
      const value = source(fields, events, kind)
      if (value === undefined) continue
      const found = fields.find([`${side}.value`])
      const repeats = found && isRepetition(readForm(found.value, formOf(fields, side)), saidOf(fields, side))
      if (repeats) takePayload(fields, side)
      return value
    }
    return undefined
  }
}

/**
 * Yields the attributes of one side (input or output), and the attributes of the call itself, such as its model and
 * parameters.
 */
function* saidOf(fields: Fields, side: Side): Generator<[string, Json]> {
  const other = PREFIXES[side === 'input' ? 'output' : 'input']
  for (const prefix of ['llm.', 'retrieval.', 'reranker.']) {
    for (const name of fields.names(prefix)) {
      if (!other.some(its => name.startsWith(its))) yield [name, fields.get(name)]
    }
  }
}

/** Returns a reranker's query or its documents, or an object with both if both were sent. */
function rerankerInput(...given: Parameters<AttributeSource>): ReturnType<AttributeSource> {
  const query = loose('reranker.query')(...given)
  const documents = indexed('reranker.input_documents')(...given)
  if (query === undefined || documents === undefined) return query ?? documents
  return freeObject([
    ['query', query],
    ['documents', documents]
  ])
}
