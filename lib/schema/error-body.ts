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
    message: Type.String({ description: 'A message for people, which names the field or parameter at fault.' }),
    requestId: RequestId
  })
})
