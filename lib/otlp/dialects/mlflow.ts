/**
 * MLflow's own attributes, which it sends unless configured to use OpenTelemetry's. Every value except tags is JSON
 * text, including values that an application sets under another convention's name.
 */
import { type Dialect, json, kindBy } from '../dialect.ts'
import type { Fields } from '../fields.ts'

/** Span types that MLflow sends when a span does not state one. */
const UNKNOWN: readonly unknown[] = ['UNKNOWN', '"UNKNOWN"']
const byType = kindBy(
  'mlflow.spanType',
  {
    LLM: 'llm',
    CHAT_MODEL: 'llm',
    AGENT: 'agent',
    TOOL: 'tool',
    CHAIN: 'chain',
    RETRIEVER: 'retriever',
    EMBEDDING: 'embedding',
    RERANKER: 'reranker',
    WORKFLOW: 'chain',
    TASK: 'chain'
  },
  'custom',
  'json'
)

export const mlflow: Dialect = {
  kind: fields => (isUnknown(fields) ? undefined : byType(fields)),
  model: ['mlflow.llm.model'],
  provider: ['mlflow.llm.provider'],
  quoted: ['mlflow.llm.model', 'mlflow.llm.provider', 'session.id', 'user.id'],
  usageDetails: ['mlflow.chat.tokenUsage'],
  costDetails: ['mlflow.llm.cost'],
  input: [json('mlflow.spanInputs')],
  output: [json('mlflow.spanOutputs')],
  trace: { metadataPrefixes: ['mlflow.traceTag.'] }
}

const isUnknown = (fields: Fields): boolean => UNKNOWN.includes(fields.get('mlflow.spanType'))
