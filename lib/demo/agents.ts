/** Agents whose steps fail: one recovers, the other does not. */
import type { SpanInput } from '../schema/input.ts'
import { type Clock, type DemoTrace, spanId, tokens, traceId } from './parts.ts'

const MODEL = 'gpt-5-mini'
const OPENAI = { provider: 'openai', model: MODEL } as const

const TASK = 'Review the change to the price rounding in `checkout/total.ts`, and run its tests.'
const DIFF = [
  '```diff',
  '- return Math.round(sum * 100) / 100',
  '+ return Number((sum + Number.EPSILON).toFixed(2))',
  '```'
].join('\n')
const VERDICT = [
  '## Review of `checkout/total.ts`',
  '',
  'The change mends the rounding of amounts such as `1.005`, but **not that of negative amounts** (a refund of `-1.005`).',
  '',
  '1. Compute in cents: `Math.round(cents) / 100`.',
  '2. Add a test for refunds; the present ones only have positive sums.',
  '',
  '| case | before | after |',
  '| --- | --- | --- |',
  '| `1.005` | 1.00 | 1.01 |',
  '| `-1.005` | -1.00 | -1.00 |'
].join('\n')
const SYSTEM = 'You review changes to a web shop. Read the code and run the tests before you judge.'

const call = (id: string, name: string, args: object) => ({
  ...{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }
})
const asks = (...calls: object[]) => ({ role: 'assistant', content: null, tool_calls: calls })

/** An agent with another one inside. A call of the model is refused and tried again, and a tool runs out of time. */
export function reviewedChange(at: Clock): DemoTrace {
  const [agent, reader] = [spanId(), spanId()]
  const under = (parentSpanId: string, span: Omit<SpanInput, 'id' | 'parentSpanId'>): SpanInput => ({
    ...{ id: spanId(), parentSpanId, ...span }
  })
  const read = call('call_r1', 'read_file', { path: 'checkout/total.ts' })
  const test = call('call_t1', 'run_tests', { filter: 'total' })
  const opening = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: `${TASK}\n\n${DIFF}` }
  ]
  const later = [
    ...opening,
    asks(read),
    { role: 'tool', tool_call_id: 'call_r1', content: 'export function total(lines: Line[]): number { … }' },
    asks(test),
    { role: 'tool', tool_call_id: 'call_t1', content: 'TimeoutError: no result after 5 s' },
    asks(call('call_t2', 'run_tests', { filter: 'total', timeout: 20 })),
    { role: 'tool', tool_call_id: 'call_t2', content: '14 passed, 0 failed' }
  ]
  return {
    body: {
      schemaVersion: 1,
      trace: {
        ...{ id: traceId(), name: 'review-change', status: 'ok', startedAt: at(0), endedAt: at(18_420), ...OPENAI },
        ...{ sessionId: 'demo-pull-318', userId: 'demo-developer-4', tags: ['demo', 'review'] },
        input: { task: TASK },
        output: VERDICT,
        metadata: { repository: 'bookshop/web', pull: 318, release: '2.14.0' },
        ...{ usage: tokens(5_412, 611), costUsd: 0.002575 },
        spans: [
          {
            ...{ id: agent, name: 'reviewer', kind: 'agent', status: 'ok', startedAt: at(0), endedAt: at(18_415) },
            ...{ input: { task: TASK }, output: VERDICT }
          },
          under(agent, {
            ...{ name: 'chat gpt-5-mini', kind: 'llm', status: 'error', startedAt: at(8), endedAt: at(140), ...OPENAI },
            input: opening,
            attributes: { 'error.type': 'RateLimitError', 'http.status_code': 429 },
            events: [
              {
                name: 'exception',
                timestamp: at(139),
                attributes: {
                  'exception.type': 'RateLimitError',
                  'exception.message': 'Rate limit reached for gpt-5-mini: 200000 tokens a minute. Try again in 1.1 s.'
                }
              }
            ]
          }),
          under(agent, {
            ...{
              name: 'chat gpt-5-mini',
              kind: 'llm',
              status: 'ok',
              startedAt: at(1_260),
              endedAt: at(3_050),
              ...OPENAI
            },
            ...{ input: opening, output: asks(read), usage: tokens(1_204, 38), costUsd: 0.000377 },
            attributes: { 'retry.attempt': 2, temperature: 0 }
          }),
          {
            ...{ id: reader, parentSpanId: agent, name: 'code-reader', kind: 'agent', status: 'ok' },
            ...{ startedAt: at(3_060), endedAt: at(5_480), input: { path: 'checkout/total.ts' } },
            output: { lines: 48, exports: ['total', 'roundPrice'] }
          },
          under(reader, {
            ...{ name: 'read_file', kind: 'tool', status: 'ok', startedAt: at(3_070), endedAt: at(3_082) },
            ...{ input: { path: 'checkout/total.ts' }, output: 'export function total(lines: Line[]): number { … }' }
          }),
          under(reader, {
            ...{
              name: 'chat gpt-5-mini',
              kind: 'llm',
              status: 'ok',
              startedAt: at(3_090),
              endedAt: at(5_470),
              ...OPENAI
            },
            input: [{ role: 'user', content: 'Which functions of this file round prices?' }],
            output: { role: 'assistant', content: '`total` and `roundPrice`; the others only add up.' },
            ...{ usage: tokens(840, 61), costUsd: 0.000332 }
          }),
          under(agent, {
            ...{ name: 'run_tests', kind: 'tool', status: 'error', startedAt: at(5_500), endedAt: at(10_502) },
            input: { filter: 'total' },
            attributes: { 'error.type': 'TimeoutError' },
            events: [{ name: 'exception', timestamp: at(10_501), attributes: { message: 'no result after 5 s' } }]
          }),
          under(agent, {
            ...{ name: 'run_tests', kind: 'tool', status: 'ok', startedAt: at(10_600), endedAt: at(14_890) },
            ...{ input: { filter: 'total', timeout: 20 }, output: { passed: 14, failed: 0, seconds: 4.2 } }
          }),
          under(agent, {
            ...{
              name: 'chat gpt-5-mini',
              kind: 'llm',
              status: 'ok',
              startedAt: at(14_900),
              endedAt: at(18_400),
              ...OPENAI
            },
            ...{ input: later, output: { role: 'assistant', content: VERDICT } },
            ...{
              usage: tokens(3_368, 512),
              costUsd: 0.001866,
              events: [{ name: 'first token', timestamp: at(15_410) }]
            }
          })
        ]
      }
    },
    scores: [
      { name: 'helpfulness', dataType: 'numeric', value: 0.88, comment: 'Finds the case of refunds.' },
      { name: 'verdict', dataType: 'categorical', value: 'correct' }
    ]
  }
}

/** A run that fails because of a tool four levels down. */
export function failedPlanner(at: Clock): DemoTrace {
  const [agent, chain, booking] = [spanId(), spanId(), spanId()]
  const wish = 'A night train from Vienna to Rome on 12 December for two, with a couchette.'
  const args = { from: 'Wien Hbf', to: 'Roma Termini', date: '2026-12-12', persons: 2 }
  const message = '503 from the timetable: maintenance until 06:00'
  const raised = (ms: number) => ({
    ...{ status: 'error' as const, attributes: { 'error.type': 'TrainApiError' } },
    events: [{ name: 'exception', timestamp: at(ms), attributes: { 'exception.message': message } }]
  })
  return {
    body: {
      schemaVersion: 1,
      trace: {
        ...{ id: traceId(), name: 'travel-planner', status: 'error', startedAt: at(0), endedAt: at(6_240), ...OPENAI },
        ...{ sessionId: 'demo-trip-9', userId: 'demo-traveller-3', tags: ['demo', 'travel'] },
        ...{ input: { wish }, usage: tokens(1_330, 97), costUsd: 0.000527, metadata: { release: '2.13.1' } },
        spans: [
          {
            ...{ id: agent, name: 'planner', kind: 'agent', startedAt: at(0), endedAt: at(6_236) },
            ...{ input: { wish }, ...raised(6_235) }
          },
          {
            ...{ id: spanId(), parentSpanId: agent, name: 'chat gpt-5-mini', kind: 'llm', status: 'ok', ...OPENAI },
            ...{ startedAt: at(10), endedAt: at(1_905), usage: tokens(1_330, 97), costUsd: 0.000527 },
            input: [
              { role: 'system', content: 'You plan journeys by train. Book nothing without a timetable.' },
              { role: 'user', content: wish }
            ],
            output: asks(call('call_b1', 'find_connection', args))
          },
          {
            ...{ id: chain, parentSpanId: agent, name: 'find a connection', kind: 'chain' },
            ...{ startedAt: at(1_910), endedAt: at(6_230), ...raised(6_229) }
          },
          {
            ...{ id: spanId(), parentSpanId: chain, name: 'stations', kind: 'retriever', status: 'ok' },
            ...{ startedAt: at(1_915), endedAt: at(1_960), input: { query: 'Vienna, Rome' } },
            output: [
              { id: '8103000', score: 0.99, text: 'Wien Hbf' },
              { id: '8300263', score: 0.97, text: 'Roma Termini' }
            ]
          },
          {
            ...{ id: booking, parentSpanId: chain, name: 'find_connection', kind: 'tool' },
            ...{ startedAt: at(1_970), endedAt: at(6_225), input: args, ...raised(6_224) }
          },
          ...[1_980, 3_010, 5_120].map((start, i) => ({
            ...{ id: spanId(), parentSpanId: booking, name: 'GET /timetable', kind: 'custom' as const },
            ...{ startedAt: at(start), endedAt: at(start + 1_000 + 50 * i), ...raised(start + 990) },
            attributes: { 'http.status_code': 503, 'retry.attempt': i + 1, 'error.type': 'TrainApiError' }
          }))
        ]
      }
    },
    scores: [{ name: 'resolved', dataType: 'boolean', value: false, comment: 'Asks the customer to come back later.' }]
  }
}
