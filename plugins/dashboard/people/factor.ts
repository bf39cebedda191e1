/** Routes for the signed-in user's second factor: codes of an authenticator app, and recovery codes. */
import Type from 'typebox'
import type { App } from '../../../lib/app.ts'
import { Refusal } from '../../../lib/errors.ts'
import { refuseField } from '../../../lib/http/refuse.ts'
import { enrolAddress, makeFactorSecret, makeRecoveryCodes, stepOfCode } from '../../../lib/people/factors/codes.ts'
import { seal, unseal } from '../../../lib/people/factors/sealed.ts'
import { closed } from '../../../lib/schema/object.ts'
import {
  beginFactor,
  confirmFactor,
  readFactor,
  removeFactor,
  renewRecovery
} from '../../../lib/store/people/second-factors.ts'
import { bodyReader, pageRoute, readRoute } from '../page-routes.ts'
import { DoneReply, FactorReply, NewFactorReply, RecoveryCodesReply } from '../replies.ts'

const PATH = '/app/api/factor'
const CodeBody = closed({ code: Type.String({ maxLength: 100 }) })

const NO_PASSWORD = 'Set a password first. Codes protect only password sign-ins, not links or providers.'
const ON_ALREADY = 'Two-step sign-in is already on. Turn it off to use another app.'
const NOT_ON = 'Two-step sign-in is off.'

export default function factor(app: App): void {
  const { sql, secrets } = app
  const readCode = bodyReader(CodeBody)

  readRoute(app, PATH, {
    replies: { 200: FactorReply },
    async handler(request) {
      const stored = await sql.read(each => readFactor(each, request.visitor.userId), request)
      const isOn = stored?.isConfirmed === true
      return { body: { isOn, recoveryCodes: isOn ? stored.recoveryCodes : 0 } }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: PATH,
    access: 'visitor',
    fresh: true,
    replies: { 201: NewFactorReply },
    async handler({ visitor: { userId, email, hasPassword } }) {
      if (!hasPassword) throw new Refusal('conflict', NO_PASSWORD)
      const secret = makeFactorSecret()
      const isBegun = await sql.write(each => beginFactor(each, userId, seal(secret, email, secrets)))
      if (!isBegun) throw new Refusal('conflict', ON_ALREADY)
      return { status: 201, body: { secret, address: enrolAddress(secret, email) } }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: `${PATH}/confirm`,
    access: 'visitor',
    fresh: true,
    smallBody: true,
    replies: { 200: RecoveryCodesReply },
    async handler({ visitor: { userId, email, session }, payload, client }) {
      const { code } = readCode(payload)
      const stored = await sql.read(each => readFactor(each, userId))
      const secret = stored && !stored.isConfirmed ? unseal(stored.secret, email, secrets)?.text : undefined
      if (stored === undefined || secret === undefined) throw new Refusal('conflict', 'Start again with a new secret.')
      const step =
        stepOfCode(secret, code) ?? refuseField('code', 'does not match the code that your authenticator app shows')
      const { codes, digests } = makeRecoveryCodes()
      const confirmation = { secret: stored.secret, step, recovery: digests, keep: session }
      const isOn = await sql.write(each => confirmFactor(each, userId, confirmation, client))
      if (!isOn) throw new Refusal('conflict', ON_ALREADY)
      return { body: { codes: [...codes] } }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: `${PATH}/recovery-codes`,
    access: 'visitor',
    fresh: true,
    replies: { 200: RecoveryCodesReply },
    async handler({ visitor: { userId }, client }) {
      const { codes, digests } = makeRecoveryCodes()
      const isRenewed = await sql.write(each => renewRecovery(each, userId, digests, client))
      if (!isRenewed) throw new Refusal('conflict', NOT_ON)
      return { body: { codes: [...codes] } }
    }
  })

  pageRoute(app, {
    method: 'DELETE',
    path: PATH,
    access: 'visitor',
    fresh: true,
    replies: { 200: DoneReply },
    async handler({ visitor: { userId }, client }) {
      await sql.write(each => removeFactor(each, userId, { by: userId, client }))
      return { body: { ok: true } }
    }
  })
}
