/** Routes that describe a project, rename it, and turn its search on or off. */

import Type from 'typebox'
import { describeProject } from '../../../lib/admin/projects.ts'
import type { App } from '../../../lib/app.ts'
import { found, refuseField } from '../../../lib/http/refuse.ts'
import type { RequestOf } from '../../../lib/http/route.ts'
import { closed } from '../../../lib/schema/object.ts'
import { readProjectNear, writeProject } from '../../../lib/store/projects/projects.ts'
import { readUnkept } from '../../../lib/store/projects/unkept-records.ts'
import { readSearchState, setSearch } from '../../../lib/store/search/state.ts'
import { entryOf } from '../acting.ts'
import { bodyReader, IN_PROJECT, pageRoute, readName, readRoute } from '../page-routes.ts'
import { ProjectPageReply } from '../replies.ts'

const ProjectBody = closed({
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  search: Type.Optional(Type.Boolean())
})

export default function projectSettings(app: App): void {
  const { sql, config } = app
  const readBody = bodyReader(ProjectBody)

  readRoute(app, IN_PROJECT, {
    replies: { 200: ProjectPageReply },
    handler: answer
  })

  pageRoute(app, {
    method: 'PATCH',
    path: IN_PROJECT,
    access: 'owner',
    smallBody: true,
    replies: { 200: ProjectPageReply },
    async handler(request) {
      const { name, search } = readBody(request.payload)
      const { id } = request.project
      if (name === undefined && search === undefined) refuseField('name', 'is required unless `search` is set')
      if (name !== undefined) {
        const own = readName('name', name)
        const audit = entryOf(request, 'project.rename', { name: own })
        found(await sql.write(each => writeProject(each, id, { name: own }, audit)), 'project')
      }
      if (search !== undefined) {
        const audit = entryOf(request, 'project.update', { search })
        found(await sql.write(each => setSearch(each, id, search, audit)), 'project')
      }
      return answer(request)
    }
  })

  async function answer(request: Pick<RequestOf<unknown>, 'project' | 'signal'>) {
    const { id, role } = request.project
    const row = found(await readProjectNear(sql, id, request), 'project')
    const { accountId: _, search: isOn, ...shown } = describeProject(row, config.storageLimitBytes)
    const search = isOn ? await sql.readOf(id, (each, names) => readSearchState(each, id, names), request) : null
    const rows = await sql.read(each => readUnkept(each, id), request)
    const unkept = rows.map(({ projectId: _, ...each }) => each)
    return { body: { ...shown, role, search, unkept } }
  }
}
