/** Health checks for process supervisors: liveness, readiness for writes, and missing optional parts. */
import Type from 'typebox'
import type { App } from '../lib/app.ts'
import { VERSION } from '../lib/version.ts'

const Health = Type.Object({ ok: Type.Boolean() }, { additionalProperties: false })
const Readiness = Type.Object(
  {
    ready: Type.Boolean(),
    reasons: Type.Array(Type.String()),
    lacks: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Problems that do not stop the process from working; absent if there are none.'
      })
    ),
    version: Type.String({ description: 'The version of spoor.' }),
    instance: Type.Optional(
      Type.String({
        description: 'An id that all servers with the same database share; absent until the database has responded.'
      })
    )
  },
  { additionalProperties: false }
)

export default function health(app: App) {
  app.route({
    method: 'GET',
    path: '/healthz',
    access: 'public',
    summary: 'Check that the process is alive',
    replies: { 200: Health },
    handler: () => ({ body: { ok: true } })
  })

  app.route({
    method: 'GET',
    path: '/readyz',
    access: 'public',
    summary: 'Check whether writes are accepted',
    replies: { 200: Readiness, 503: Readiness },
    async handler() {
      const reasons = await app.readiness()
      const ready = reasons.length === 0
      const lacks = app.lacks()
      const instance = app.instance()
      const body = {
        ready,
        reasons,
        ...(lacks.length > 0 && { lacks }),
        version: VERSION,
        ...(instance !== undefined && { instance })
      }
      return { status: ready ? 200 : 503, body }
    }
  })
}
