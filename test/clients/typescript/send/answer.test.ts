import fc from 'fast-check'
import t from 'tap'
import { judge, type ServerAnswer, waitMs } from '../../../../clients/typescript/send/answer.ts'

const error = (code: string) => JSON.stringify({ error: { code, message: 'why', requestId: 'r' } })

const TABLE: [
  what: string,
  kind: 'record' | 'start' | 'spans' | 'end' | 'score' | 'otlp',
  answer: ServerAnswer,
  verdict: object
][] = [
  ['stored', 'record', { status: 201, text: '{"ok":true}' }, { do: 'done' }],
  ["a proxy's page", 'record', { status: 200, text: '<html>' }, { do: 'again', all: true }],
  ['another service', 'record', { status: 201, text: '{"id":1}' }, { do: 'again', all: true }],
  ['no answer', 'record', { status: 0, text: 'ECONNREFUSED' }, { do: 'again', all: true, reason: 'ECONNREFUSED' }],
  ['full', 'record', { status: 429, text: error('quota_exhausted'), retryAfter: '2' }, { do: 'again', afterMs: 2000 }],
  ['a server error', 'record', { status: 500, text: error('internal_error') }, { do: 'again', all: false }],
  ['a proxy without a server', 'record', { status: 502, text: 'Bad Gateway' }, { do: 'again', all: true }],
  ['a wrong address', 'record', { status: 404, text: 'nothing here' }, { do: 'again', all: true }],
  [
    'a wrong path',
    'record',
    { status: 404, text: error('not_found') },
    { do: 'stop', reason: /^check SPOOR_URL: 404/ }
  ],
  ["a page's path", 'start', { status: 405, text: error('method_not_allowed') }, { do: 'stop' }],
  ['a wrong path of an export', 'otlp', { status: 404, text: error('not_found') }, { do: 'stop' }],
  ['a deleted trace', 'end', { status: 404, text: error('not_found') }, { do: 'lost' }],
  ['a wrong key', 'record', { status: 401, text: error('invalid_api_key') }, { do: 'stop' }],
  ['a key without the scope', 'record', { status: 403, text: error('insufficient_scope') }, { do: 'stop' }],
  ['a firewall', 'record', { status: 403, text: 'blocked' }, { do: 'again' }],
  ['another environment', 'end', { status: 403, text: error('forbidden') }, { do: 'lost' }],
  ['other content', 'record', { status: 409, text: error('trace_id_conflict') }, { do: 'lost' }],
  ['ended before', 'spans', { status: 409, text: error('trace_finished') }, { do: 'ended' }],
  ['ended otherwise', 'end', { status: 409, text: error('trace_finished') }, { do: 'lost' }],
  ['too large', 'record', { status: 413, text: error('payload_too_large') }, { do: 'cut' }],
  ['too large for a proxy', 'record', { status: 413, text: '<html>' }, { do: 'cut' }],
  [
    'refused',
    'record',
    { status: 400, text: error('invalid_trace') },
    { do: 'lost', reason: '400 invalid_trace: why' }
  ],
  ['a score before its trace', 'score', { status: 404, text: error('not_found') }, { do: 'again', all: false }],
  ['spans without a trace', 'spans', { status: 404, text: error('not_found') }, { do: 'lost' }],
  ['an export', 'otlp', { status: 200, text: '{}' }, { do: 'done' }],
  [
    'an export with rejections',
    'otlp',
    { status: 200, text: '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"no"}}' },
    { do: 'lost', reason: '2 spans rejected: no' }
  ]
]

t.test('each response has its consequence', t => {
  for (const [what, kind, answer, verdict] of TABLE) t.match(judge(kind, answer, 0), verdict, what)
  t.equal(judge('score', { status: 404, text: error('not_found') }, 20).do, 'lost', 'at last')
  t.end()
})

t.test('only traces that spoor itself rejects permanently are lost', t => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 599 }), fc.string(), (status, text) => {
      const verdict = judge('record', { status, text }, 3)
      t.ok(verdict.do === 'again' || verdict.do === 'cut', `${status} ${text}`)
    }),
    { numRuns: 200 }
  )
  t.end()
})

t.test('delays grow, are bounded, and respect the server', t => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2000 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
      const wait = waitMs(failures, undefined, random)
      t.ok(wait >= 100 && wait <= 30_000)
      t.ok(waitMs(failures, 5000, random) >= 5000)
    }),
    { numRuns: 50 }
  )
  t.ok(waitMs(8, undefined, 0.5) > waitMs(2, undefined, 0.5))
  t.end()
})
