/** Schema of every error response's body (specification 7). */
import Type from 'typebox'
import { ERROR_CODES } from '../errors.ts'
import { closed, named } from './object.ts'
import { RequestId } from './output.ts'

export const ErrorBody = named('ErrorBody', {
  error: closed({
    code: Type.Enum([...ERROR_CODES], {
      description: 'A stable code. Codes may be added, but existing codes keep their meaning.'
    }),
    message: Type.String({ description: 'A human-readable message that identifies the invalid field or parameter.' }),
    requestId: RequestId
  })
})
