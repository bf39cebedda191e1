/** Hostile full-text searches, over hostile traces. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Test } from 'tap'
import type { Excerpt } from '../../../lib/search/wanted.ts'
import { ingestBody, span, traceId } from '../../fixtures/bodies/bodies.ts'
import { signedIn } from '../../fixtures/service/people.ts'
import { indexNow, searchOn } from '../../fixtures/service/searching.ts'
import { testService } from '../../fixtures/service/service.ts'
import { figure, runs } from '../orders.ts'

/**
 * Pieces of hostile text: combining marks alone, many scripts, characters that normalise to several, invisible
 * characters, unpaired surrogates, and query syntax.
 */
const PIECES = [
  ...['a', 'B ', 'ß', 'e\u0301', '\u0301', '\u0301\u0301\u0301', 'İ', 'ſ', 'ς', 'ﷺ', '㌖', 'ｶﾞ'],
  ...['東', '京 ', '𠮷', '각', 'ก็', 'हिन्दी', 'שלום ', 'مُحَمَّد', '\u202e', '\u2066', '\u200d', '\ufeff', '👩‍👩‍👧‍👦', '🇩🇪'],
  ...[
    '\ud800',
    '\udc00',
    '\u0000',
    '\u001f',
    '\u2028',
    '\uffff',
    '"',
    '“',
    '„',
    '” ',
    "'",
    ' ',
    '\n',
    '\\',
    '\\u',
    '%',
    '0',
    '-'
  ]
]
const piece = fc.constantFrom(...PIECES)
const hostileText = (most: number) =>
  fc.oneof(
    fc.array(piece, { maxLength: most }).map(pieces => pieces.join('')),
    fc.tuple(piece, piece, fc.nat(most)).map(([one, other, times]) => (one + other).repeat(times)),
    fc.nat(most).map(words => Array.from({ length: words }, (_, i) => i.toString(36)).join(' ')),
    fc.string({ unit: 'binary', maxLength: most })
  )

const hostileJson = fc.oneof(
  hostileText(3000),
  fc.array(hostileText(20), { maxLength: 500 }),
  fc.dictionary(hostileText(20), hostileText(50), { maxKeys: 50 }),
  fc.tuple(fc.nat(60), hostileText(50)).map(([depth, text]) => {
    let value: unknown = text
    for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { [text.slice(0, 5)]: value, type: text }
    return value
  })
)

const hostileTrace = fc
  .record({
    name: hostileText(10),
    input: hostileJson,
    output: hostileJson,
    calls: fc.array(hostileJson, { maxLength: 50 })
  })
  .map(({ name, input, output, calls }) =>
    ingestBody({
      id: traceId(),
      name: name.slice(0, 100) || 'run',
      input,
      output,
      spans: calls.map(call => span({ kind: 'llm', input: call, output: call }))
    })
  )

/** A query as it appears in an address: a string, or bytes that may be invalid UTF-8. */
const hostileQuery = fc.oneof(
  { weight: 4, arbitrary: hostileText(40).map(text => encodeURIComponent(text.slice(0, 200).toWellFormed())) },
  {
    weight: 1,
    arbitrary: hostileText(10_000).map(text =>
      encodeURIComponent(text.slice(0, 15_000).toWellFormed()).slice(0, 12_000)
    )
  },
  {
    weight: 1,
    arbitrary: fc
      .uint8Array({ maxLength: 40 })
      .map(bytes => [...bytes].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join(''))
  }
)

function checkExcerpt({ text, marks }: Excerpt): void {
  assert.ok(text.isWellFormed() && text.length <= 242, JSON.stringify(text))
  assert.doesNotMatch(text, /[\p{Cc}\p{Cf}]/u)
  let last = 0
  for (const [start, end] of marks) {
    assert.ok(start >= last && start < end && end <= text.length)
    last = end
  }
}

/** Fails if a search gets any response except a page or 400, or if the page cannot show an excerpt. */
export async function fuzzSearches(t: Test): Promise<void> {
  const service = await testService(t)
  await searchOn(service)
  const { ask } = await signedIn(service, 'viewer@example.com', 'viewer')
  const seen = { searches: 0, found: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(hostileTrace, { maxLength: 3 }),
      fc.array(hostileQuery, { minLength: 1, maxLength: 20 }),
      async (traces, queries) => {
        for (const body of traces) {
          const { status, text } = await service.call('POST', '/api/v1/traces', { body })
          assert.ok(status === 201 || (status >= 400 && status < 500), `${status} ${text}`)
        }
        await indexNow(service)
        for (const query of queries) {
          const { status, body, text } = await ask('GET', `p/default/traces?q=${query}`)
          assert.ok(status === 200 || status === 400 || status === 414 || status === 431, `${status} ${text}`)
          seen.searches++
          if (status !== 200) continue
          const excerpts = body.traces.flatMap((trace: { excerpt: Excerpt; moreExcerpts: readonly Excerpt[] }) => [
            trace.excerpt,
            ...trace.moreExcerpts
          ])
          for (const excerpt of excerpts) checkExcerpt(excerpt)
          seen.found += excerpts.length
        }
        figure('hostile searches', `${seen.searches}, which found ${seen.found}`)
      }
    ),
    runs(1)
  )
  t.ok(seen.searches > 0)
}
