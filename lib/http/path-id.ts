/** The ids that stand in paths. */
import { Refusal } from '../errors.ts'

const PATH_NOUN = { traceId: 'trace', scoreId: 'score' }
const PATH_ID = { traceId: /^[0-9a-f]{32}$/i, scoreId: /^[0-9a-f]{16}$/i }

/** An id folded to lower case. One that cannot be is `not_found`, as is one that nothing has. */
export function readPathId(name: keyof typeof PATH_ID, text: string): string {
  if (!PATH_ID[name].test(text)) throw new Refusal('not_found', `There is no such ${PATH_NOUN[name]} in this project.`)
  return text.toLowerCase()
}
