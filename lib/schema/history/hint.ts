/** Schema of the hint in a response that may be empty. */
import Type from 'typebox'
import { nullable } from '../object.ts'

export const Hint = nullable(
  Type.String(),
  'If nothing was found, says which requested values do not exist, and suggests the nearest ones. Otherwise null.'
)
