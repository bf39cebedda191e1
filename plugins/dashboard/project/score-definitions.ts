/** Routes for the definitions of the scores that people add. Every visitor can read them; owners can change them. */
import type { App } from '../../../lib/app.ts'
import { Refusal } from '../../../lib/errors.ts'
import { found, refuseField } from '../../../lib/http/refuse.ts'
import { faultOfDefinition, ScoreDefinitionBody } from '../../../lib/schema/score-definition.ts'
import {
  deleteDefinition,
  MOST_DEFINITIONS,
  readScoreDefinitions,
  storeDefinition
} from '../../../lib/store/projects/score-definitions.ts'
import { entryOf } from '../acting.ts'
import { bodyReader, checkLine, IN_PROJECT, pageRoute, readName, readRoute } from '../page-routes.ts'
import { DoneReply, OneScoreDefinitionReply, ScoreDefinitionsReply } from '../replies.ts'

export default function scoreDefinitions(app: App): void {
  const { sql } = app
  const readDefinition = bodyReader(ScoreDefinitionBody)

  readRoute(app, `${IN_PROJECT}/score-definitions`, {
    replies: { 200: ScoreDefinitionsReply },
    async handler(request) {
      return { body: { definitions: await sql.read(each => readScoreDefinitions(each, request.project.id), request) } }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: `${IN_PROJECT}/score-definitions`,
    access: 'owner',
    smallBody: true,
    replies: { 201: OneScoreDefinitionReply },
    async handler(request) {
      const {
        minimum = null,
        maximum = null,
        categories = [],
        description = '',
        ...rest
      } = readDefinition(request.payload)
      const named = categories.map((each, i) => readName(`categories[${i}]`, each))
      const definition = { ...rest, minimum, maximum, categories: named, description: description.trim() }
      checkLine('description', definition.description)
      const fault = faultOfDefinition(definition)
      if (fault !== undefined) refuseField(...fault)
      const entry = entryOf(request, 'score-definition.set', definition)
      const stored = await sql.write(each => storeDefinition(each, request.project.id, definition, entry))
      if (stored === undefined) {
        throw new Refusal('conflict', `A project has at most ${MOST_DEFINITIONS} score definitions: delete one first.`)
      }
      return { status: 201, body: { definition: stored } }
    }
  })

  pageRoute(app, {
    method: 'DELETE',
    path: `${IN_PROJECT}/score-definitions/:name`,
    access: 'owner',
    replies: { 200: DoneReply },
    async handler(request) {
      const { name = '' } = request.params
      checkLine('name', name)
      const entry = entryOf(request, 'score-definition.remove', { name })
      const isDeleted = await sql.write(each => deleteDefinition(each, request.project.id, name, entry))
      found(isDeleted || undefined, 'score definition in this project')
      return { body: { ok: true } }
    }
  })
}
