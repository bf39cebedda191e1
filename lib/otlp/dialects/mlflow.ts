/**
 * MLflow's own attributes, which MLflow sends unless configured to use OpenTelemetry's attributes. Every value except
 * tags is JSON text, including values that an application sets under another convention's name.
 */
import { type Dialect, json, kindBy } from '../dialect.ts'

export const mlflow: Dialect = {
  kind: kindBy('mlflow.spanType', 'json'),
  model: ['mlflow.llm.model'],
  provider: ['mlflow.llm.provider'],
  quoted: ['mlflow.llm.model', 'mlflow.llm.provider', 'session.id', 'user.id'],
  usageDetails: ['mlflow.chat.tokenUsage'],
  costDetails: ['mlflow.llm.cost'],
  input: [json('mlflow.spanInputs')],
  output: [json('mlflow.spanOutputs')],
  trace: { metadataPrefixes: ['mlflow.traceTag.'] }
}
