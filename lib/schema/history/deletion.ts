/** Schemas of the route that deletes many traces. */
import Type, { type Static } from 'typebox'
import { MOST_REMAINING } from '../field-values.ts'
import { MAX_TEXT, TraceId } from '../input.ts'
import { named } from '../object.ts'

const MAX_TRACE_IDS = 200

export const DeletedIds = Type.Array(TraceId, {
  minItems: 1,
  maxItems: MAX_TRACE_IDS,
  description: 'The ids of the traces to delete. Unknown ids are ignored.'
})

const fields = Type.Object({
  traceIds: Type.Optional(DeletedIds),
  userId: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_TEXT, description: "Deletes this user's traces." })),
  sessionId: Type.Optional(
    Type.String({ minLength: 1, maxLength: MAX_TEXT, description: "Deletes this session's traces." })
  )
})

/** Exactly one of the fields that select traces must be given. */
export const DeletionBody = Type.Object(
  {
    ...fields.properties,
    dryRun: Type.Optional(
      Type.Boolean({
        description: 'If true, nothing is deleted, and `remaining` is the number of traces that would be deleted.'
      })
    )
  },
  {
    title: 'DeletionInput',
    description: 'Set exactly one of traceIds, userId or sessionId.',
    additionalProperties: false
  }
)
export type DeletionBody = Static<typeof DeletionBody>

export const TracesDeleted = named('TracesDeleted', {
  ok: Type.Boolean(),
  deleted: Type.Integer({ minimum: 0, description: 'The number of traces that this request deleted.' }),
  remaining: Type.Integer({
    minimum: 0,
    description:
      `The number of traces still to delete, counted up to ${MOST_REMAINING.toLocaleString('en')}. Send the same ` +
      'request again until it is 0.'
  }),
  hint: Type.Optional(
    Type.String({
      description:
        'Set if the user or session has no traces. If the key can read traces, it also lists the nearest existing ' +
        'users or sessions.'
    })
  )
})
export type TracesDeleted = Static<typeof TracesDeleted>
