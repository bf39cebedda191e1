/**
 * Builds the text of a result that is too long to be sent twice. `structuredContent` contains the whole result. The
 * text contains as much of the result as fits, says that the result is shortened, and explains how to get the rest.
 */

import { Refusal } from '../errors.ts'
import { inspectText, parseInexact, stringifyExact } from '../trace/json/exact-json.ts'
import { cutOutlineText, type Detail, outlineTrace, SHOWN_BYTES } from './outline.ts'

/** Maximum size in bytes of a result that is sent whole as text. */
export const MAX_TEXT_BYTES = 256 * 1024
/** Maximum number of bytes of a member, other than a list, that the text shows. */
const MEMBER_BYTES = 4000

/** A result to send, as JSON text. A result longer than MAX_TEXT_BYTES is sent as pieces, with a shortened text. */
export type Result = string | LongResult
export interface LongResult {
  /** JSON text in UTF-8, without unpaired surrogates. */
  readonly pieces: readonly Uint8Array[]
  readonly text: string
}

/** Returns the shortened text of a long result, which must be a JSON object. */
export function shortResultText(result: string): string {
  const { inexact } = inspectText(result)
  const value = (inexact ? parseInexact(result) : JSON.parse(result)) as Readonly<Record<string, unknown>>
  const bytes = Buffer.byteLength(result)
  return isDetail(value) ? outlineTrace(value, { inexact, bytes, isText: true }) : shorten(value, inexact, bytes)
}

const isDetail = (value: object): value is Detail => 'trace' in value && 'spans' in value && 'scores' in value

/** Shortens a result. Keeps as many leading items of each list as fit. */
function shorten(value: Readonly<Record<string, unknown>>, inexact: boolean, bytes: number): string {
  const said: string[] = []
  const kept: Record<string, unknown> = {}
  let room = SHOWN_BYTES
  for (const [name, member] of Object.entries(value)) {
    if (!Array.isArray(member)) {
      const json = stringifyExact(member, inexact)
      const cut = cutOutlineText(json, MEMBER_BYTES)
      kept[name] = cut === json ? member : cut
      continue
    }
    const items: unknown[] = []
    for (const item of member) {
      room -= Buffer.byteLength(stringifyExact(item, inexact))
      if (room < 0) break
      items.push(item)
    }
    const isBare = items.length === 0 && member.length > 0
    kept[name] = isBare ? [cutOutlineText(stringifyExact(member[0], inexact), SHOWN_BYTES / 2)] : items
    const which = isBare ? 'the beginning of the first' : `the first ${items.length}`
    if (items.length < member.length) said.push(`${which} of ${member.length} ${name}`)
  }
  const note =
    `This text is shortened: it contains ${said.join(', ') || 'long values cut'}. The full result is ${bytes} bytes. ` +
    'To read the rest, request less: use a smaller limit, or fewer spanIds. Clients that read structuredContent have ' +
    'the full result.'
  return stringifyExact({ note, ...kept }, inexact)
}

/**
 * Maximum total size of results in bytes, enough for two traces of the usual maximum size, each as structured content
 * and as text. A single result may be larger.
 */
const MOST_BYTES = 32 * 1024 * 1024

/**
 * Limits the total size of one message's results. The results of a batch's calls, up to 50, stay in memory until the
 * batch is answered.
 */
export class Gathered {
  readonly #most: number
  #bytes = 0

  constructor(most = MOST_BYTES) {
    this.#most = most
  }

  /** Throws `invalid_request` if the message's results have reached the limit. */
  check(): void {
    if (this.#bytes < this.#most) return
    throw new Refusal(
      'invalid_request',
      `batch: its results already total ${this.#bytes} bytes, and the limit is ${this.#most}. ` +
        'Send this call in another message.'
    )
  }

  add(result: Result): Result {
    this.#bytes +=
      typeof result === 'string'
        ? 2 * Buffer.byteLength(result)
        : result.pieces.reduce((sum, { byteLength }) => sum + byteLength, Buffer.byteLength(result.text))
    return result
  }
}
