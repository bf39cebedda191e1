/**
 * Routes for model prices. Every visitor sees the prices that apply in the project; owners set the project's own
 * prices.
 */
import Type from 'typebox'
import type { App } from '../../../lib/app.ts'
import { found, refuseField } from '../../../lib/http/refuse.ts'
import { closed } from '../../../lib/schema/object.ts'
import { PricedModel, PriceRange } from '../../../lib/schema/price.ts'
import {
  deletePrices,
  type PriceRow,
  readPrices,
  readUnpriced,
  storePrice
} from '../../../lib/store/projects/prices.ts'
import { parseTimestamp } from '../../../lib/trace/timestamp.ts'
import { entryOf } from '../acting.ts'
import { bodyReader, IN_PROJECT, pageRoute, readName, readRoute } from '../page-routes.ts'
import { DoneReply, OnePriceReply, PricesReply } from '../replies.ts'

const price = Type.Number(PriceRange)
const part = Type.Optional(Type.Union([price, Type.Null()]))
const PriceBody = closed({
  model: Type.String(PricedModel),
  /** The time from which the price applies. If null or omitted, the price applies at all times. */
  from: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  input: price,
  output: price,
  cacheRead: part,
  cacheWrite: part
})

export default function prices(app: App): void {
  const { sql } = app
  const readPrice = bodyReader(PriceBody)

  readRoute(app, `${IN_PROJECT}/prices`, {
    replies: { 200: PricesReply },
    async handler(request) {
      const { id } = request.project
      const rows = await sql.read(each => readPrices(each, id), request)
      const unpriced = await sql.read(each => readUnpriced(each, id), request)
      return {
        body: {
          prices: rows.map(shown),
          unpriced: unpriced.map(({ model, calls, lastAt }) => ({ model, calls, lastAt }))
        }
      }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: `${IN_PROJECT}/prices`,
    access: 'owner',
    smallBody: true,
    replies: { 201: OnePriceReply },
    async handler(request) {
      const { from, cacheRead = null, cacheWrite = null, input, output, ...body } = readPrice(request.payload)
      const model = readName('model', body.model)
      const time = from == null ? null : parseTimestamp(from)
      if (time === undefined) refuseField('from', 'must be an ISO 8601 date and time, such as 2026-11-21T12:00:00Z')
      const given = { model, from: time ?? null, input, output, cacheRead, cacheWrite }
      const entry = entryOf(request, 'price.set', given)
      const row = await sql.write(each => storePrice(each, request.project.id, given, entry))
      return { status: 201, body: { price: shown(row) } }
    }
  })

  pageRoute(app, {
    method: 'DELETE',
    path: `${IN_PROJECT}/prices/:priceId`,
    access: 'owner',
    replies: { 200: DoneReply },
    async handler(request) {
      const { id: projectId } = request.project
      const rows = await sql.read(each => readPrices(each, projectId), request)
      const own = rows.find(({ id, projectId: of }) => String(id) === request.params.priceId && of === projectId)
      const { model, from } = found(own, 'price in this project')
      const entry = entryOf(request, 'price.remove', { model, from })
      await sql.write(each => deletePrices(each, { projectId, model, from }, entry))
      return { body: { ok: true } }
    }
  })
}

const shown = ({ projectId, ...row }: PriceRow) => ({ ...row, ofProject: projectId !== null })
