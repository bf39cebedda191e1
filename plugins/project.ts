/** Describes the calling key, so that a client can check its configuration, and the key's project. */
import { describeProject } from '../lib/admin/projects.ts'
import type { App } from '../lib/app.ts'
import { found } from '../lib/http/refuse.ts'
import { KeyDescription, Project } from '../lib/schema/output.ts'
import { readProjectNear } from '../lib/store/projects/projects.ts'

export default function project(app: App): void {
  app.route({
    method: 'GET',
    path: '/api/v1/key',
    operation: 'getKey',
    access: 'key',
    summary: "Describe the request's API key",
    replies: { 200: KeyDescription },
    async handler({ key }) {
      const { keyId, projectId, scopes, expiresAt, lastUsedAt, environment } = key
      return {
        body: { keyId, projectId: String(projectId), scopes, expiresAt, lastUsedAt: await lastUsedAt, environment }
      }
    }
  })
  app.route({
    method: 'GET',
    path: '/api/v1/project',
    operation: 'getProject',
    access: 'traces:read',
    summary: "Describe the key's project",
    description: 'The counts cover all environments of the project.',
    replies: { 200: Project },
    async handler(request) {
      const { key } = request
      const row = found(await readProjectNear(app.sql, key.projectId, request), 'project')
      const { accountId, search, retention, ...project } = describeProject(row, app.config.storageLimitBytes)
      return { body: { ...project, keyScopes: key.scopes } }
    }
  })
}
