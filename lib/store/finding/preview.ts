/** Makes short previews of inputs and outputs for lists. */
import { CUT } from '../../schema/history/search.ts'
import { SEARCHED, stringsOf } from '../../search/texts.ts'

/** The beginning of a user's message in a chat input. */
const USER = /"role"\s*:\s*"user"/g

/**
 * Returns the beginning of the text in a JSON value, which may be cut; null if the value is null. An input that
 * consists of messages is shown from the user's last message on. A value without strings is shown as JSON.
 */
export function previewOf(json: string | null, side: 'input' | 'output'): string | null {
  if (json === null) return null
  const beginning = json.slice(0, SEARCHED.json)
  const lastOfUser = side === 'input' ? [...beginning.matchAll(USER)].at(-1) : undefined
  const from = lastOfUser === undefined ? beginning : beginning.slice(lastOfUser.index)
  // The first string after `"role":` is the role itself, which stringsOf leaves out.
  const ofUser = stringsOf(from, 2 * CUT.preview)
  const texts = ofUser.length === 0 ? stringsOf(beginning, 2 * CUT.preview) : ofUser
  const text = texts.length === 0 ? beginning : texts.join(' ')
  return cutText(text.replace(/\s+/g, ' ').trim(), CUT.preview)
}

/** Returns the beginning of a text, marked if it is cut. Does not split surrogate pairs. */
export function cutText(text: string, most: number): string {
  const formed = text.toWellFormed()
  const characters = [...formed.slice(0, 2 * (most + 1))]
  return characters.length <= most ? formed : `${characters.slice(0, most - 1).join('')}…`
}
