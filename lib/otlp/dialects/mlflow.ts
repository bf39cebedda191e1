/** MLflow's own attributes, which it sends unless it is told to send OpenTelemetry's. Each is JSON text. */
import { type Dialect, json, type SpanKind } from '../dialect.ts'

const KINDS: Readonly<Record<string, SpanKind>> = {
  LLM: 'llm',
  CHAT_MODEL: 'llm',
  AGENT: 'agent',
  TOOL: 'tool',
  CHAIN: 'chain',
  WORKFLOW: 'chain',
  TASK: 'chain',
  RETRIEVER: 'retriever',
  EMBEDDING: 'embedding',
  RERANKER: 'reranker'
}

export const mlflow: Dialect = {
  kind(fields) {
    const type = fields.get('mlflow.spanType')
    if (typeof type !== 'string') return undefined
    return Object.hasOwn(KINDS, type) ? KINDS[type] : 'custom'
  },
  jsonTexts: ['mlflow.spanType', 'mlflow.llm.model', 'mlflow.llm.provider'],
  model: ['mlflow.llm.model'],
  provider: ['mlflow.llm.provider'],
  usageDetails: ['mlflow.chat.tokenUsage'],
  input: [json('mlflow.spanInputs')],
  output: [json('mlflow.spanOutputs')]
}
