/** Schema of the hint in a response that may be empty. */
import Type from 'typebox'
import { nullable } from '../object.ts'

export const Hint = nullable(
  Type.String(),
  'If nothing was found: which of the requested values do not exist, and the nearest ones that do. Otherwise null.'
)
