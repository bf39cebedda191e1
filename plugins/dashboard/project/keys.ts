/** Routes that let owners manage a project's keys. Only the response that creates a key contains the whole key. */

import Type from 'typebox'
import { createKey, listKeys, revokeKey, rotateKey } from '../../../lib/admin/keys.ts'
import { AdminError } from '../../../lib/admin-error.ts'
import type { App } from '../../../lib/app.ts'
import { Refusal } from '../../../lib/errors.ts'
import { checkQueryTexts, found } from '../../../lib/http/refuse.ts'
import type { RequestOf } from '../../../lib/http/route.ts'
import { closed } from '../../../lib/schema/object.ts'
import { SCOPES } from '../../../lib/schema/scopes.ts'
import { EnvironmentError } from '../../../lib/trace/environment.ts'
import { actorOf } from '../acting.ts'
import { bodyReader, IN_PROJECT, pageRoute } from '../page-routes.ts'
import { IssuedKeyReply, KeyReply, KeysReply } from '../replies.ts'

const MAX_DAYS = 3650

const NewKeyBody = closed({
  label: Type.Optional(Type.String({ maxLength: 200 })),
  scopes: Type.Optional(Type.Array(Type.Enum([...SCOPES]), { minItems: 1, maxItems: SCOPES.length })),
  /** If null or omitted, the key's traces have no environment. */
  environment: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 32 }), Type.Null()])),
  /** If null or omitted, the key never expires. */
  expiresInDays: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: MAX_DAYS }), Type.Null()]))
})

export default function keys(app: App): void {
  const { sql, config, secrets } = app
  const making = { ...secrets, keyPrefix: config.keyPrefix }
  const readNewKey = bodyReader(NewKeyBody)

  pageRoute(app, {
    method: 'GET',
    path: `${IN_PROJECT}/keys`,
    access: 'owner',
    replies: { 200: KeysReply },
    async handler(request) {
      const { slug } = request.params
      return { body: { keys: await sql.read(each => listKeys(each, slug), request) } }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: `${IN_PROJECT}/keys`,
    access: 'owner',
    fresh: true,
    smallBody: true,
    replies: { 201: IssuedKeyReply },
    async handler(request) {
      const { params, payload } = request
      const { label, scopes, environment, expiresInDays } = readNewKey(payload)
      checkQueryTexts({ label })
      const asked = {
        project: params.slug as string,
        label,
        scopes: scopes && [...new Set(scopes)],
        environment: environment ?? undefined,
        expiresInDays: expiresInDays ?? undefined
      }
      const key = await refusing('invalid_request', () =>
        sql.write(each => createKey(each, making, asked, actorOf(request)))
      )
      return { status: 201, body: key }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: `${IN_PROJECT}/keys/:keyId/rotate`,
    access: 'owner',
    fresh: true,
    replies: { 201: IssuedKeyReply },
    async handler(request) {
      const keyId = await requireKey(request)
      const key = await refusing('conflict', () => sql.write(each => rotateKey(each, making, keyId, actorOf(request))))
      return { status: 201, body: key }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: `${IN_PROJECT}/keys/:keyId/revoke`,
    access: 'owner',
    fresh: true,
    replies: { 200: KeyReply },
    async handler(request) {
      const keyId = await requireKey(request)
      return { body: await sql.write(each => revokeKey(each, keyId, actorOf(request))) }
    }
  })

  /** Returns the key id in the path. Throws `not_found` unless the key belongs to the project. */
  async function requireKey(request: Pick<RequestOf<unknown>, 'params' | 'signal'>): Promise<string> {
    const { slug, keyId } = request.params
    const own = await sql.read(each => listKeys(each, slug), request)
    return found(own.find(key => key.keyId === keyId)?.keyId, 'key in this project')
  }
}

/** Converts errors from administrative operations to a `Refusal` with the given code. */
async function refusing<T>(code: 'invalid_request' | 'conflict', work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof AdminError || error instanceof EnvironmentError) throw new Refusal(code, error.message)
    throw error
  }
}
