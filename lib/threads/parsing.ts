/**
 * Reads bodies that are not traces but can be just as large, on the worker threads that prepare traces. Parsing a large
 * body on the main thread would delay other requests (test/bench/RESULTS.md, "Worker threads").
 */
import { Refusal } from '../errors.ts'
import { MAX_TEXT_BYTES, type Result, shortResultText } from '../mcp/long-result.ts'
import { type LargeMessage, readLargeMessage } from '../mcp/message.ts'
import { VIEWS } from '../mcp/views.ts'
import { wellFormed } from '../mcp/well-formed.ts'
import { type Logs, readLogs } from '../otlp/logs/records.ts'
import { readMetricNames } from '../otlp/metrics/names.ts'
import { checker } from '../schema/check.ts'
import { MetadataPatch, ScoreInput } from '../schema/input.ts'
import { readBody } from '../trace/body.ts'
import { parseExact, stringifyExact } from '../trace/json/exact-json.ts'
import { type Merged, mergeMetadata } from '../trace/metadata.ts'
import { splitTexts } from '../trace/text-pair.ts'

/** Maps each readable kind of body to its result type. */
export interface Parsed {
  /** The metadata of a PATCH body, as an exact JSON string. */
  patch: string
  /** The score in the body of POST …/scores. */
  score: ScoreInput
  /** The metadata merged from two strings (`textsOf`): the stored metadata and a patch. */
  merge: Merged
  /** The additions to traces from an OTLP export of log records. */
  'logs-json': Logs
  'logs-protobuf': Logs
  /** The number of metrics by name in an OTLP export of metrics. */
  'metrics-json': ReadonlyMap<string, number>
  'metrics-protobuf': ReadonlyMap<string, number>
  /** The parts of a Model Context Protocol message. */
  message: LargeMessage
  /** The get_trace tool's result, built from two strings: the tool's options and the getTrace response. */
  view: Result
  /** The text that replaces a tool result too long to return as text. */
  short: string
}
export type ParsedName = keyof Parsed

const patch = checker(MetadataPatch)
const score = checker(ScoreInput)

const PARSERS: { readonly [name in ParsedName]: (body: Uint8Array) => Parsed[name] } = {
  patch(body) {
    const { value, exact, inexact } = readBody(body, 'invalid_request')
    if (!patch.check(value, exact)) throw new Refusal('invalid_request', patch.explain(exact))
    return stringifyExact((exact as MetadataPatch).metadata, inexact)
  },
  score(body) {
    const { value, exact } = readBody(body, 'invalid_request')
    if (!score.check(value, exact)) throw new Refusal('invalid_request', score.explain(exact))
    return value
  },
  merge: body => mergeMetadata(...splitTexts(body)),
  'logs-json': body => readLogs(body, 'json'),
  'logs-protobuf': body => readLogs(body, 'protobuf'),
  'metrics-json': body => readMetricNames(body, 'json'),
  'metrics-protobuf': body => readMetricNames(body, 'protobuf'),
  message: readLargeMessage,
  view(body) {
    const [chosen, answer] = splitTexts(body)
    const { view, options } = parseExact(chosen) as { view: string; options: Record<string, unknown> }
    const shown = VIEWS.get(view)!.show(answer, options)
    const bytes = Buffer.from(wellFormed(shown))
    return bytes.length <= MAX_TEXT_BYTES ? shown : { pieces: [bytes], text: shortResultText(shown) }
  },
  short: body => shortResultText(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString())
}

export const isParsedName = (operation: string): operation is ParsedName => operation in PARSERS

/** Reads a body. Throws a Refusal if the body is invalid. */
export const parse = <K extends ParsedName>(name: K, body: Uint8Array): Parsed[K] => PARSERS[name](body)
