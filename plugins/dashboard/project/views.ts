/** Routes for saved views. Users have their own views; members share views with everyone who can see the project. */

import Type from 'typebox'
import type { App } from '../../../lib/app.ts'
import { Refusal } from '../../../lib/errors.ts'
import { found, refuseField } from '../../../lib/http/refuse.ts'
import type { RequestOf } from '../../../lib/http/route.ts'
import { closed } from '../../../lib/schema/object.ts'
import { isEnough } from '../../../lib/schema/roles.ts'
import { ViewName, ViewPage, ViewQuery } from '../../../lib/schema/saved-view.ts'
import {
  deleteView,
  insertView,
  listViews,
  MOST_VIEWS,
  readView,
  updateView,
  type View,
  type ViewChange,
  type ViewRow
} from '../../../lib/store/projects/saved-views.ts'
import { bodyReader, checkLine, IN_PROJECT, pageRoute, readId, readName, readRoute } from '../page-routes.ts'
import { DoneReply, OneViewReply, ViewsReply } from '../replies.ts'

const VIEW = `${IN_PROJECT}/views/:viewId`

const shared = Type.Optional(Type.Boolean())
const NewViewBody = closed({ name: ViewName, page: ViewPage, query: ViewQuery, shared })
const ViewBody = closed({
  name: Type.Optional(ViewName),
  page: Type.Optional(ViewPage),
  query: Type.Optional(ViewQuery),
  shared
})

type Asking = Pick<RequestOf<unknown>, 'visitor' | 'project' | 'params' | 'signal'>

export default function views(app: App): void {
  const { sql } = app
  const readNewView = bodyReader(NewViewBody)
  const readChanges = bodyReader(ViewBody)

  readRoute(app, `${IN_PROJECT}/views`, {
    replies: { 200: ViewsReply },
    async handler(request) {
      return { body: { views: await sql.read(each => listViews(each, viewerOf(request)), request) } }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: `${IN_PROJECT}/views`,
    access: 'visitor',
    smallBody: true,
    replies: { 201: OneViewReply },
    async handler(request) {
      const view = checked({ shared: false, ...readNewView(request.payload) })
      if (view.shared) requireMember(request)
      const made = await sql.write(each => insertView(each, viewerOf(request), view))
      return { status: 201, body: { view: done(made, view) } }
    }
  })

  pageRoute(app, {
    method: 'PATCH',
    path: VIEW,
    access: 'visitor',
    smallBody: true,
    replies: { 200: OneViewReply },
    async handler(request) {
      const changes = readChanges(request.payload)
      const { id, name, page, query, shared } = await requireView(request)
      const view = checked({ name, page, query, shared, ...changes } as View)
      if (shared || view.shared) requireMember(request)
      const changed = await sql.write(each => updateView(each, viewerOf(request), id, view))
      return { body: { view: done(changed, view) } }
    }
  })

  pageRoute(app, {
    method: 'DELETE',
    path: VIEW,
    access: 'visitor',
    replies: { 200: DoneReply },
    async handler(request) {
      const { id, shared } = await requireView(request)
      if (shared) requireMember(request)
      found(await sql.write(each => deleteView(each, viewerOf(request), id)), 'view in this project')
      return { body: { ok: true } }
    }
  })

  /** Returns the view in the path. Throws `not_found` unless the view is shared or the visitor's own. */
  async function requireView(request: Asking): Promise<ViewRow> {
    const id = readId(request.params.viewId)
    const row = id === undefined ? undefined : await sql.read(each => readView(each, viewerOf(request), id), request)
    return found(row, 'view in this project')
  }
}

const viewerOf = ({ visitor, project }: Asking) => ({ projectId: project.id, userId: visitor.userId })

function requireMember({ project }: Asking): void {
  if (isEnough(project.role, 'member')) return
  throw new Refusal('forbidden', 'Only members can share views or change shared views.')
}

function checked(view: View): View {
  const name = readName('name', view.name)
  const { query } = view
  checkLine('query', query)
  if (query !== '' && !query.startsWith('?')) refuseField('query', 'must be empty, or begin with ?')
  if (query.includes('#')) refuseField('query', 'must not contain #')
  return { ...view, name }
}

/** Returns the stored view. Throws a `Refusal` if the view could not be stored. */
function done(change: ViewChange, { name, shared }: View): ViewRow {
  if (change === 'taken') {
    throw new Refusal('conflict', `name: ${shared ? 'a shared view' : 'one of your views'} is already called ${name}`)
  }
  if (change === 'full') {
    const rule = shared ? 'shared views per project' : 'views of your own per project'
    throw new Refusal('conflict', `At most ${MOST_VIEWS} ${rule} are allowed: delete one first.`)
  }
  return found(change, 'view in this project')
}
