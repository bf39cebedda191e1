/** The body of every error (specification 7), as a typebox schema. */
import Type from 'typebox'
import { ERROR_CODES } from '../errors.ts'
import { closed, named } from './object.ts'
import { RequestId } from './output.ts'

export const ErrorBody = named('ErrorBody', {
  error: closed({
    code: Type.Enum([...ERROR_CODES], { description: 'Stable: codes may be added, but none changes its meaning.' }),
    message: Type.String({ description: 'For people: names the field or the parameter at fault.' }),
    requestId: RequestId
  })
})
