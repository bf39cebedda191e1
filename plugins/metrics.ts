/** Serves the service's metrics in Prometheus format. */
import type { App } from '../lib/app.ts'
import { Content } from '../lib/http/route.ts'

export default function metrics(app: App): void {
  app.route({
    method: 'GET',
    path: '/metrics',
    access: 'public',
    summary: 'Get the metrics in Prometheus text format',
    replies: {},
    async handler() {
      const { type, text } = await app.metrics.render()
      return { body: new Content(type, text) }
    }
  })
}
