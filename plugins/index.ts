/** Lists the API's resources, in the order of the OpenAPI document, and the dashboard. Start reading here. */
import type { Plugin } from '../lib/app.ts'
import changes from './changes.ts'
import dashboard from './dashboard/index.ts'
import deletions from './deletions.ts'
import docs from './docs.ts'
import health from './health.ts'
import mcp from './mcp/index.ts'
import meta from './meta.ts'
import metrics from './metrics.ts'
import openapi from './openapi.ts'
import otlp from './otlp/index.ts'
import project from './project.ts'
import scores from './scores.ts'
import search from './search.ts'
import securityContact from './security-contact.ts'
import sessions from './sessions.ts'
import spans from './spans.ts'
import traces from './traces/index.ts'
import usage from './usage.ts'

export const plugins: readonly Plugin[] = [
  meta,
  openapi,
  project,
  traces,
  search,
  otlp,
  scores,
  sessions,
  deletions,
  spans,
  changes,
  usage,
  mcp,
  docs,
  securityContact,
  dashboard,
  health,
  metrics
]
