/** Describes the project that the calling key belongs to. */
import { describeProject } from '../lib/admin/projects.ts'
import type { App } from '../lib/app.ts'
import { found } from '../lib/http/refuse.ts'
import { Project } from '../lib/schema/output.ts'
import { readProjectNear } from '../lib/store/projects/projects.ts'

export default function project(app: App): void {
  app.route({
    method: 'GET',
    path: '/api/v1/project',
    operation: 'getProject',
    access: 'traces:read',
    summary: 'Describe the project of the key',
    description: 'Counts are project-wide, across all environments.',
    replies: { 200: Project },
    async handler(request) {
      const { key } = request
      const row = found(await readProjectNear(app.sql, key.projectId, request), 'project')
      const { accountId, search, ...project } = describeProject(row, app.config.storageLimitBytes)
      return { body: { ...project, keyScopes: key.scopes } }
    }
  })
}
