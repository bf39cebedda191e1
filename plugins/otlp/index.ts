/** Accepts exports from OpenTelemetry: over HTTP in protobuf or JSON, and over gRPC. */
import type { App } from '../../lib/app.ts'
import logs from './logs.ts'
import metrics from './metrics.ts'
import traces from './traces.ts'

export default function otlp(app: App) {
  traces(app)
  logs(app)
  metrics(app)
}
