/**
 * JSON that is not a trace and may be large all the same: read where the bodies of traces are made ready, so that none
 * holds up the requests of others. 2 MiB of short numbers took the main thread 0.9 s.
 */
import { Refusal } from '../errors.ts'
import { type LargeMessage, readLargeMessage } from '../mcp/message.ts'
import { traceView } from '../mcp/trace-view.ts'
import { checker } from '../schema/check.ts'
import { MetadataPatch, ScoreInput } from '../schema/input.ts'
import { readBody } from '../trace/body.ts'
import { parseExact, stringifyExact } from '../trace/json/exact-json.ts'
import { type Merged, mergeMetadata } from '../trace/metadata.ts'
import { splitTexts } from './text-pair.ts'

/** What can be read, and what it comes to. */
export interface Parsed {
  /** The body of a patch: its metadata as exact JSON text. */
  patch: string
  score: ScoreInput
  /** Two texts (`textsOf`), the stored metadata and the patch. */
  merge: Merged
  /** A message of the Model Context Protocol. */
  message: LargeMessage
  /** Two texts, options of get_trace and the answer of getTrace: the answer of the tool. */
  view: string
}
export type ParsedName = keyof Parsed

const patch = checker(MetadataPatch)
const score = checker(ScoreInput)

const PARSERS: { readonly [name in ParsedName]: (body: Uint8Array) => Parsed[name] } = {
  patch(body) {
    const { value, exact, inexact } = readBody(body, 'invalid_request')
    if (!patch.check(value)) throw new Refusal('invalid_request', patch.explain(value))
    return stringifyExact((exact as MetadataPatch).metadata, inexact)
  },
  score(body) {
    const { value } = readBody(body, 'invalid_request')
    if (!score.check(value)) throw new Refusal('invalid_request', score.explain(value))
    return value
  },
  merge: body => mergeMetadata(...splitTexts(body)),
  message: readLargeMessage,
  view(body) {
    const [options, answer] = splitTexts(body)
    return traceView.show(answer, parseExact(options) as Record<string, unknown>)
  }
}

export const isParsedName = (operation: string): operation is ParsedName => operation in PARSERS

/** Throws a Refusal where the body is not what it should be. */
export const parse = <K extends ParsedName>(name: K, body: Uint8Array): Parsed[K] => PARSERS[name](body)
