/** Body of every error response of the dashboard's routes. */
import Type from 'typebox'
import { DASHBOARD_ERRORS, ERROR_CODES } from '../../lib/errors.ts'
import { closed } from '../../lib/schema/object.ts'

export const PageError = closed({
  error: closed({
    code: Type.Enum([...ERROR_CODES, ...(Object.keys(DASHBOARD_ERRORS) as (keyof typeof DASHBOARD_ERRORS)[])]),
    message: Type.String(),
    requestId: Type.String()
  })
})
