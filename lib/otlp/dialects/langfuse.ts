/**
 * Langfuse's SDKs. The SDKs set an observation's attributes on the observation's own span, and a trace's attributes on
 * any span of the trace.
 */
import { type Dialect, kindBy, structured } from '../dialect.ts'

export const langfuse: Dialect = {
  kind: kindBy('langfuse.observation.type'),
  model: ['langfuse.observation.model.name'],
  usageDetails: ['langfuse.observation.usage_details'],
  costDetails: ['langfuse.observation.cost_details'],
  input: [structured('langfuse.observation.input')],
  output: [structured('langfuse.observation.output')],
  trace: {
    root: ['langfuse.internal.is_app_root', 'langfuse.internal.as_root'],
    name: ['langfuse.trace.name'],
    input: ['langfuse.trace.input'],
    output: ['langfuse.trace.output'],
    sessionId: ['langfuse.session.id', 'session.id'],
    userId: ['langfuse.user.id', 'user.id'],
    tags: ['langfuse.trace.tags', 'langfuse.tags'],
    metadata: ['langfuse.trace.metadata'],
    metadataPrefixes: ['langfuse.trace.metadata.'],
    form: 'structured'
  }
}
