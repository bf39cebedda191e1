import { Refusal } from '../errors.ts'

const PATH_NOUN = { traceId: 'trace', scoreId: 'score', spanId: 'span' }
const PATH_ID = { traceId: /^[0-9a-f]{32}$/i, scoreId: /^[0-9a-f]{16}$/i, spanId: /^[0-9a-f]{16}$/i }

/** Returns the id in lower case. A malformed id is rejected as `not_found`, like an unknown id. */
export function readPathId(name: keyof typeof PATH_ID, text: string): string {
  if (!PATH_ID[name].test(text)) throw new Refusal('not_found', `There is no such ${PATH_NOUN[name]} in this project.`)
  return text.toLowerCase()
}
