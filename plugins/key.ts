/** Describes the calling key, so that a client can check its configuration. */
import type { App } from '../lib/app.ts'
import { KeyDescription } from '../lib/schema/output.ts'

export default function key(app: App) {
  app.route({
    method: 'GET',
    path: '/api/v1/key',
    operation: 'getKey',
    access: 'key',
    summary: 'Describe the calling key',
    replies: { 200: KeyDescription },
    async handler({ key }) {
      const { keyId, projectId, scopes, expiresAt, lastUsedAt, environment } = key
      return {
        body: { keyId, projectId: String(projectId), scopes, expiresAt, lastUsedAt: await lastUsedAt, environment }
      }
    }
  })
}
