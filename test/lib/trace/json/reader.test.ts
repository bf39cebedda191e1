/** Plain bodies are read in one pass, and other bodies by the general reader. Both must yield the same result. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../../../lib/errors.ts'
import { IngestBody, MAX_JSON_DEPTH } from '../../../../lib/schema/input.ts'
import { readBody } from '../../../../lib/trace/body.ts'
import { compactText } from '../../../../lib/trace/json/compact.ts'
import { canonicalise, holdsControls, parseExact, stringifyExact } from '../../../../lib/trace/json/exact-json.ts'
import { surplusOf } from '../../../../lib/trace/json/free-json.ts'
import { reader } from '../../../../lib/trace/json/reader.ts'
import { prepare, prepareTrace } from '../../../../lib/trace/prepare.ts'
import type { PreparedTrace } from '../../../../lib/trace/prepared.ts'
import { withPlainTexts } from '../../../fixtures/bodies/plain-texts.ts'
import { runs } from '../../../torture/orders.ts'

const AT = '2026-11-21T12:00:00.000Z'
const END_OF_TRACE = `,"endedAt":"${AT}"`
const START = `{"schemaVersion":1,"trace":{"id":"${'a'.repeat(32)}","name":"n","startedAt":"${AT}"${END_OF_TRACE}`
const SPAN = `{"id":"${'b'.repeat(16)}","name":"s","startedAt":"${AT}","endedAt":"${AT}"`
const plain = reader(IngestBody)

/**
 * Returns the error message, or all values that determine identity, sizes and columns. Leaves out the hashes of a
 * complete trace's spans, because only an import computes them.
 */
function outcome(way: () => PreparedTrace): unknown {
  try {
    const trace = withPlainTexts(way())
    const values = ({ input, output, ...rest }: { input: string | null; output: string | null }) => ({
      ...rest,
      input: exactly(input),
      output: exactly(output)
    })
    return {
      ...values(trace),
      metadata: exactly(trace.metadata),
      spans: trace.spans.map(span => ({
        ...values(span),
        attributes: exactly(span.attributes),
        events: exactly(span.events),
        hash: trace.endedAt === null ? span.hash : null
      }))
    }
  } catch (error) {
    if (error instanceof Refusal) return `${error.code}: ${error.message}`
    throw error
  }
}

/** Stored JSON may differ in the notation of strings, and in the order of integer-like keys. */
const exactly = (stored: string | null) => (stored === null ? null : stringifyExact(parseExact(stored)))

function assertSame(text: string): void {
  for (const body of [text, text.replace(END_OF_TRACE, '')]) {
    const bytes = Buffer.from(body)
    assert.deepEqual(
      outcome(() => prepare('record', bytes)),
      outcome(() => prepareTrace(readBody(bytes, 'invalid_trace')))
    )
  }
}

const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.integer().map(String),
  fc.constantFrom(
    '0',
    '-0',
    '0.0',
    '1.0',
    '10',
    '-1.50',
    '0.000001',
    '0.0000001',
    '1e3',
    '1E+400',
    '-12.5e-3',
    '123456789012345',
    '1234567890123456',
    '12345678901234567890',
    '0.1234567890123456789',
    '100000000000000000000000',
    '1.7976931348623157e308'
  )
)
const letter = fc.oneof(
  fc.constantFrom(
    '\\"',
    '\\\\',
    '\\/',
    '\\b',
    '\\f',
    '\\n',
    '\\r',
    '\\t',
    '\\u0041',
    '\\u00e9',
    '\\u0000',
    '\\u001F',
    '\\u001f',
    '\\ud83d\\ude00',
    '\\ud800',
    '\\u2028',
    'é',
    '😀',
    '\u2028',
    '\u007f',
    ' ',
    ',',
    '}',
    ':'
  ),
  fc.stringMatching(/^[a-z]{1,12}$/)
)
const string = fc.array(letter, { maxLength: 6 }).map(letters => `"${letters.join('')}"`)
const name = fc.oneof(
  string,
  fc.constantFrom(
    '""',
    '"a"',
    '"b"',
    '"B"',
    '"10"',
    '"9"',
    '"__proto__"',
    '"constructor"',
    '"\\u0061"',
    '"\\/"',
    '"\\""',
    '"é"',
    '"東"',
    '"\ue000"',
    '"\uffff"',
    '"😀"',
    '"😀\\n"',
    '"\uffff\\n"'
  )
)
const { value: json } = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom('null', 'true', 'false', '{}', '[]'),
    number,
    string,
    fc.array(tie('value'), { maxLength: 4 }).map(items => `[${items.join(',')}]`),
    fc
      .array(fc.tuple(name, tie('value')), { maxLength: 5 })
      .map(members => `{${members.map(([key, value]) => `${key}:${value}`).join(',')}}`)
  )
}))
const object = fc
  .array(fc.tuple(name, json), { maxLength: 5 })
  .map(members => `{${members.map(([key, value]) => `${key}:${value}`).join(',')}}`)
const body = fc
  .record({
    input: json,
    output: json,
    metadata: object,
    attributes: object,
    event: object,
    cost: number,
    title: string
  })
  .map(
    ({ input, output, metadata, attributes, event, cost, title }) =>
      `${START},"input":${input},"metadata":${metadata},"tags":["x",${title}],"costUsd":${cost},"sessionId":${title},` +
      `"model":"é","spans":[${SPAN},"output":${output},"attributes":${attributes},"provider":${title},` +
      `"events":[{"name":${title},"timestamp":"${AT}","attributes":${event}}],"parentSpanId":null}]}}`
  )
/** Bodies without escapes that spell a character by number, which are read as byte texts. */
const unnumbered = body.map(text => text.replaceAll(/\\u[\dA-Fa-f]{4}/g, 'é'))

t.test('both paths give the same result for any JSON in the free fields', async () => {
  fc.assert(fc.property(body, assertSame), runs(300))
  let byteTexts = 0
  const assertSameByteText = (text: string) => {
    assertSame(text)
    try {
      if (prepare('record', Buffer.from(text)).areByteTexts === true) byteTexts++
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
    }
  }
  fc.assert(fc.property(unnumbered, assertSameByteText), runs(300))
  assert.ok(byteTexts > 20, 'some bodies were read as byte texts')
})

t.test('the names of byte texts are in the order of UTF-16 code units', async t => {
  const names = ['z', 'é', '東', '\ue000', '\uffff', '😀', '𝄞', '\n😀', '\n\uffff', '😀\ue000', '😀😀']
  for (const one of names) {
    for (const other of names) {
      if (one === other) continue
      const metadata = JSON.stringify({ [one]: 1, [other]: 2, a: 3 })
      const text = `${START},"metadata":${metadata}}}`
      assertSame(text)
      const sorted = `${START},"metadata":${canonicalise(JSON.parse(metadata))}}}`
      t.equal(prepare('record', Buffer.from(text)).hash, prepare('record', Buffer.from(sorted)).hash, metadata)
    }
  }
})

t.test('a stored free value differs in length from its canonical form only in its numbers', async () => {
  fc.assert(
    fc.property(body, text => {
      const { input, metadata } = plain.read(text, MAX_JSON_DEPTH)?.trace ?? {}
      for (const json of [input, metadata]) {
        if (json === undefined || json.stored === null) continue
        assert.equal(surplusOf(json), Buffer.byteLength(json.stored) - Buffer.byteLength(json.canonical))
      }
    }),
    runs(150)
  )
})

t.test('a text with one change gives the same result or the same error message on both paths', async () => {
  const piece = fc.constantFrom(
    '',
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '0',
    '1',
    '.',
    'e',
    '-',
    ' ',
    '\n',
    '\t',
    '\u0001',
    'null',
    'x',
    '"name":"m",',
    '\u00a0'
  )
  fc.assert(
    fc.property(fc.oneof(body, unnumbered), fc.nat(), fc.nat({ max: 2 }), piece, (text, place, cut, put) => {
      const at = place % text.length
      assertSame(text.slice(0, at) + put + text.slice(at + cut))
    }),
    runs(900)
  )
})

t.test('whitespace between tokens changes nothing', async () => {
  const space = fc.constantFrom('', ' ', '\n', '\r\n\t', '    ')
  fc.assert(
    fc.property(fc.oneof(body, unnumbered), fc.array(space, { minLength: 1, maxLength: 5 }), (text, spaces) => {
      let i = 0
      const spaced = text.replace(/"(?:[^"\\]|\\.)*"|[{}[\],:]/g, part => part + spaces[i++ % spaces.length])
      assert.equal(compactText(spaced), text)
      assertSame(spaced)
    }),
    runs(150)
  )
})

t.test('whitespace is never removed from between two values', async t => {
  for (const text of ['1 2', '"a" "b"', 'tr ue', '[1 2]', '{"a":1 "b":2}', '- 1'])
    t.equal(compactText(text), undefined, text)
  for (const text of ['"a', '["\\"', '"\\']) t.equal(compactText(text), undefined, text)
})

t.test('typical bodies are read in one pass', async t => {
  const texts = [
    `${START}}}`,
    `${START},"input":{"role":"user","content":"a \\"quoted\\" line\\n"},"costUsd":0.0123,"spans":[${SPAN},"usage":{"inputTokens":3}}]}}`,
    `${START},"metadata":{"\\u0062\\"":1,"a":[true,null,-1.5e-7,"\\u00e9"]}}}`
  ]
  for (const text of texts) t.ok(plain.read(text, MAX_JSON_DEPTH), text)
})

t.test('characters below U+0020 are found in any position', async t => {
  const bytes = Buffer.alloc(64, 'é~ ')
  t.equal(holdsControls(bytes), false)
  for (let from = 0; from < 5; from++) {
    for (let at = from; at < bytes.length; at++) {
      const copy = Buffer.from(bytes)
      copy[at] = 0x1f
      t.equal(holdsControls(copy.subarray(from)), true)
    }
  }
})
