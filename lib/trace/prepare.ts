/**
 * Prepares a request body for storage: reads, checks, normalises, hashes and measures it. The functions are pure, so
 * worker threads and the main thread can call them.
 */
import { Refusal } from '../errors.ts'
import { checker } from '../schema/check.ts'
import { EndBody, ImportedBody, IngestBody, MAX_JSON_DEPTH, SpansBody } from '../schema/input.ts'
import { mayHoldOddText, type ParsedBody, parseBody, readText } from './body.ts'
import { byteTextOf } from './json/byte-text.ts'
import { compactText } from './json/compact.ts'
import { CONTROL, holdsControls } from './json/exact-json.ts'
import { type Reader, reader } from './json/reader.ts'
import { type Checked, normaliseEnd, normaliseSpans, normaliseTrace } from './normalise.ts'
import {
  assertHashed,
  type Prepared,
  type PreparedAppend,
  type PreparedEnd,
  type PreparedSpan,
  type PreparedTrace
} from './prepared.ts'

const checks = { record: checker(IngestBody), append: checker(SpansBody), end: checker(EndBody) }
const imported = checker(ImportedBody)
const readers = { record: reader(IngestBody), append: reader(SpansBody), end: reader(EndBody) }

export function prepare(operation: 'record', bytes: Uint8Array): PreparedTrace
export function prepare(operation: 'append', bytes: Uint8Array): PreparedAppend
export function prepare(operation: 'end', bytes: Uint8Array): PreparedEnd
export function prepare(operation: 'append' | 'end', bytes: Uint8Array): PreparedAppend | PreparedEnd
export function prepare(operation: Prepared['operation'], bytes: Uint8Array): Prepared
/** Prepares the body of one of the three write routes. Throws a Refusal that names the field and the rule. */
export function prepare(operation: Prepared['operation'], bytes: Uint8Array): Prepared {
  switch (operation) {
    case 'record':
      return normaliseTrace(readPlain(readers.record, bytes) ?? check('record', parse(bytes)))
    case 'append':
      return normaliseSpans(readPlain(readers.append, bytes) ?? check('append', parse(bytes)))
    case 'end':
      return normaliseEnd(readPlain(readers.end, bytes) ?? check('end', parse(bytes)))
  }
}

const parse = (bytes: Uint8Array): ParsedBody => parseBody(readText(bytes), 'invalid_trace')

/** Prepares the parsed body of a trace to import. */
export function prepareTrace({ value, exact, inexact, escapes }: ParsedBody): PreparedTrace<PreparedSpan> {
  if (!imported.check(value, exact)) throw new Refusal('invalid_trace', imported.explain(exact))
  const trace = normaliseTrace({ value: readers.record.adapt(value as never, exact, inexact), escapes }, true)
  const { spans } = trace
  assertHashed(spans)
  return { ...trace, spans }
}

/** Fast path for plain, valid bodies. Returns undefined for any other body. */
function readPlain<T>(reader: Reader<T>, bytes: Uint8Array): Checked<T> | undefined {
  const mayBeCompact = !holdsControls(bytes)
  const byteText = byteTextOf(bytes)
  if (byteText !== undefined) {
    const { text, isBeyondAscii } = byteText
    const value = readCompact(text, mayBeCompact, text => reader.read({ text, isBeyondAscii }, MAX_JSON_DEPTH))
    if (value !== undefined) return { value, byteText, escapes: false }
    if (!mayHoldOddText(text)) return undefined
  }
  const text = readText(bytes)
  const value = readCompact(text, mayBeCompact, text => reader.read(text, MAX_JSON_DEPTH))
  return value === undefined ? undefined : { value, escapes: mayHoldOddText(text) }
}

/** Reads a text as it is if it may be compact, and otherwise without its white space. */
function readCompact<T>(text: string, mayBeCompact: boolean, read: (text: string) => T | undefined): T | undefined {
  const value = mayBeCompact ? read(text) : undefined
  if (value !== undefined) return value
  const compact = compactText(text)
  if (compact === undefined || compact === text || CONTROL.test(compact)) return undefined
  return read(compact)
}

/** Slow path: checks a parsed body. Throws a Refusal that names the field and the rule. */
function check<T extends Prepared['operation']>(operation: T, { value, exact, inexact, escapes }: ParsedBody) {
  const schema = checks[operation]
  if (!schema.check(value, exact)) throw new Refusal('invalid_trace', schema.explain(exact))
  return { value: readers[operation].adapt(value as never, exact, inexact), escapes } as Checked<BodyOf[T]>
}

interface BodyOf {
  record: IngestBody
  append: SpansBody
  end: EndBody
}
