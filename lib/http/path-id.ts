/** Reads the ids in paths. */
import { Refusal } from '../errors.ts'

const PATH_NOUN = { traceId: 'trace', scoreId: 'score', spanId: 'span' }
const PATH_ID = { traceId: /^[0-9a-f]{32}$/i, scoreId: /^[0-9a-f]{16}$/i, spanId: /^[0-9a-f]{16}$/i }

/** The id in lower case. A text that cannot be an id is refused as `not_found`, like an id that nothing has. */
export function readPathId(name: keyof typeof PATH_ID, text: string): string {
  if (!PATH_ID[name].test(text)) throw new Refusal('not_found', `There is no such ${PATH_NOUN[name]} in this project.`)
  return text.toLowerCase()
}
