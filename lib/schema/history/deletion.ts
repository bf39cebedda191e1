/** Schemas of the route that deletes many traces. */
import Type, { type Static } from 'typebox'
import { MAX_TEXT, TraceId } from '../input.ts'
import { named } from '../object.ts'

const MAX_TRACE_IDS = 200

export const DeletedIds = Type.Array(TraceId, {
  minItems: 1,
  maxItems: MAX_TRACE_IDS,
  description: 'The ids of traces. Unknown ids are ignored.'
})

const fields = Type.Object({
  traceIds: Type.Optional(DeletedIds),
  userId: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_TEXT, description: 'The user of the traces.' })),
  sessionId: Type.Optional(
    Type.String({ minLength: 1, maxLength: MAX_TEXT, description: 'The session of the traces.' })
  )
})

/** Exactly one field must be given. */
export const DeletionBody = Type.Object(fields.properties, {
  title: 'DeletionInput',
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1
})
export type DeletionBody = Static<typeof DeletionBody>

export const TracesDeleted = named('TracesDeleted', {
  ok: Type.Boolean(),
  deleted: Type.Integer({ minimum: 0, description: 'The number of traces that this request deleted.' }),
  remaining: Type.Integer({
    minimum: 0,
    description: 'The number of traces left to delete, counted up to 10,000. Send the same request again until it is 0.'
  })
})
export type TracesDeleted = Static<typeof TracesDeleted>
