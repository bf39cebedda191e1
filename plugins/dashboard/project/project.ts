/** The project: its name, and how much is stored. */
import Type from 'typebox'
import { describeProject } from '../../../lib/admin/projects.ts'
import type { App } from '../../../lib/app.ts'
import { checkTexts, found, refuseField } from '../../../lib/http/refuse.ts'
import type { RequestOf } from '../../../lib/http/route.ts'
import { closed } from '../../../lib/schema/object.ts'
import { readProjectNear, renameProject } from '../../../lib/store/projects/projects.ts'
import { actOf } from '../judging.ts'
import { bodyReader, IN_PROJECT, pageRoute, SMALL_BODY_BYTES } from '../page-routes.ts'

const NameBody = closed({ name: Type.String({ minLength: 1, maxLength: 200 }) })

export default function project(app: App): void {
  const { sql, config } = app
  const readName = bodyReader(NameBody)

  pageRoute(app, {
    method: 'GET',
    path: IN_PROJECT,
    access: 'visitor',
    handler: answer
  })

  pageRoute(app, {
    method: 'PATCH',
    path: IN_PROJECT,
    access: 'owner',
    takesBody: true,
    maxBodyBytes: SMALL_BODY_BYTES,
    async handler(request) {
      const name = readName(request.payload).name.trim()
      checkTexts({ name })
      if (name === '') refuseField('name', 'must not be empty')
      if (/\p{Cc}/u.test(name)) refuseField('name', 'must not hold control characters')
      const act = actOf(request, 'project.rename', { name })
      found(await sql.write(each => renameProject(each, request.project.id, name, act)), 'project')
      return answer(request)
    }
  })

  async function answer(request: Pick<RequestOf<unknown>, 'project' | 'signal'>) {
    const { id, role } = request.project
    const row = found(await readProjectNear(sql, id, request), 'project')
    const { accountId: _, ...shown } = describeProject(row, config.storageLimitBytes)
    return { body: { ...shown, role } }
  }
}
