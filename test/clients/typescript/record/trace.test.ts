/**
 * Tests the requests of a trace: after any sequence of actions, each request is valid, and together the requests
 * contain each step once.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Span } from '../../../../clients/typescript/record/step.ts'
import { Trace, type TraceOptions, type TracePart } from '../../../../clients/typescript/record/trace.ts'
import { exportBody } from '../../../../clients/typescript/send/otlp.ts'
import { checker } from '../../../../lib/schema/check.ts'
import { EndBody, IngestBody, ScoreInput, SpansBody } from '../../../../lib/schema/input.ts'
import { collecting } from '../../../fixtures/client/collecting.ts'

const CHECKS = {
  record: checker(IngestBody),
  start: checker(IngestBody),
  spans: checker(SpansBody),
  end: checker(EndBody),
  score: checker(ScoreInput)
}

/** Returns the names of the spans in a part, without the root. */
function spansOf({ kind, body }: TracePart): string[] {
  if (kind === 'joined') {
    const [{ scopeSpans }] = JSON.parse(exportBody('a'.repeat(32), body)).resourceSpans
    const spans = scopeSpans[0].spans
    return spans.map(({ name }: { name: string }) => name).filter((name: string) => name !== 'agent')
  }
  const parsed = JSON.parse(body)
  assert.ok(kind !== 'otlp')
  const fault = CHECKS[kind].check(parsed) ? '' : CHECKS[kind].explain(parsed)
  assert.equal(fault, '', kind)
  const { spans = [] } = parsed.trace ?? parsed
  return spans.map(({ name }: { name: string }) => name)
}

/** An action: start a step under a running step, end a step, add a score, record an error, or send waiting spans. */
const act = fc.oneof(
  fc.record({ what: fc.constant('begin' as const), n: fc.nat(9), large: fc.boolean() }),
  fc.record({ what: fc.constantFrom('end', 'error', 'score', 'send') as fc.Arbitrary<'end'>, n: fc.nat(9) })
)
const way = fc.constantFrom<TraceOptions>(
  {},
  { live: true },
  { parent: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) } }
)

t.test('each step is sent once, in requests that the server accepts', async t => {
  fc.assert(
    fc.property(way, fc.array(act, { maxLength: 25 }), (options, acts) => {
      const { recorder, parts, problems, over, held } = collecting()
      const trace = new Trace(recorder, 'agent', { input: 'why?', tags: ['a'], ...options })
      const open: (Trace | Span)[] = [trace]
      const names: string[] = []
      for (const each of acts) {
        const at = each.n % open.length
        const step = open[at]!
        if (each.what === 'begin') {
          const name = `step ${names.length}`
          names.push(name)
          open.push(step.startSpan(name, { input: 'large' in each && each.large ? 'x'.repeat(300_000) : 'x' }))
        } else if ((each.what as string) === 'score') step.score('quality', 1)
        else if ((each.what as string) === 'send') trace.sendNow()
        else if (step !== trace) {
          if ((each.what as string) === 'error') step.recordError(new Error('broken'))
          step.end({ output: names.length })
          open.splice(at, 1)
        }
      }
      trace.end({ output: 'because' })
      assert.deepEqual(parts.flatMap(spansOf).toSorted(), names.toSorted())
      assert.deepEqual(problems, [])
      assert.deepEqual(over, [trace])
      assert.equal(held(), 0, 'nothing waits any more')
      const first = parts.find(({ kind }) => kind !== 'score')?.kind
      assert.ok(first === 'record' || first === 'start' || first === 'joined', first)
      assert.equal(parts.filter(({ kind }) => kind === 'record' || kind === 'end').length, options.parent ? 0 : 1)
    }),
    { numRuns: 60 }
  )
  t.pass()
})

t.test('work after the end is not recorded, and is reported', t => {
  const { recorder, parts, problems } = collecting()
  const trace = new Trace(recorder, 'agent')
  trace.end()
  trace.end()
  trace.startSpan('late').end()
  t.equal(parts.length, 1)
  t.match(problems, [/span late began after its trace had ended/])
  trace.score('quality', true)
  t.equal(parts.at(-1)?.kind, 'score', 'a score can be added later')
  t.end()
})

t.test('a trace that is running when the process ends is recorded as it is', t => {
  const { recorder, parts } = collecting()
  const trace = new Trace(recorder, 'agent')
  trace.startSpan('open')
  trace.abandon()
  trace.abandon()
  const body = JSON.parse(parts[0]!.body).trace
  t.match(body, {
    status: 'unset',
    metadata: { spoor: { notEnded: true } },
    spans: [{ name: 'open' }]
  })
  t.equal(parts.length, 1)
  t.end()
})

t.test("a score meets the server's rules, however long its texts are", t => {
  const { recorder, parts } = collecting()
  const trace = new Trace(recorder, 'agent', { live: true })
  trace.score('verdict', 'good\0'.repeat(100), { comment: 'since '.repeat(1000) }).score('empty', '', { comment: '' })
  const scores = parts.filter(({ kind }) => kind === 'score').map(({ body }) => JSON.parse(body))
  for (const score of scores) t.equal(CHECKS.score.check(score) || CHECKS.score.explain(score), true)
  t.match(scores, [
    { value: /^good\uFFFDgood/, comment: /^since since/ },
    { value: '', comment: '' }
  ])
  t.end()
})

t.test('session and user can be set later, but not after the start has been sent', t => {
  const { recorder, parts, problems } = collecting()
  new Trace(recorder, 'agent', { userId: 'u1' }).setUser('u2').setUser(undefined).setSession('s').end()
  t.match(JSON.parse(parts[0]!.body).trace, { userId: 'u2', sessionId: 's' })
  new Trace(recorder, 'agent', { live: true, userId: 'u1' }).setUser('u2').end()
  t.match(problems, [/is live: its userId can no longer be set/])
  t.end()
})

t.test('a joined trace is sent as spans, and a live one cannot be joined', t => {
  const { recorder, problems } = collecting()
  const trace = new Trace(recorder, 'agent')
  t.match(trace.traceparent, new RegExp(`^00-${trace.traceId}-[0-9a-f]{16}-01$`))
  trace.end()
  t.same(problems, [])
  const live = new Trace(recorder, 'agent', { live: true })
  t.match(live.traceparent, /^00-/)
  t.match(problems, [/is live or large/])
  live.end()
  t.end()
})

/** Returns a trace's span count in its parts, by kind of part. */
function spansIn({ parts }: ReturnType<typeof collecting>): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { kind, body } of parts) {
    const { spans = [], trace = {} } = JSON.parse(body)
    counts[kind] = (counts[kind] ?? 0) + (trace.spans ?? spans).length
  }
  return counts
}

t.test('a trace with more than 200 spans is sent as OTLP, and a live one reports what it omits', t => {
  const whole = collecting()
  const trace = new Trace(whole.recorder, 'many')
  for (let i = 0; i < 350; i++) trace.startSpan(`${i}`).end()
  trace.end()
  t.same(spansIn(whole), { joined: 350 })
  t.same(whole.problems, [])
  const live = collecting()
  const other = new Trace(live.recorder, 'many', { live: true })
  for (let i = 0; i < 350; i++) other.startSpan(`${i}`).end()
  other.end()
  const { start, ...sent } = spansIn(live)
  t.equal(
    Object.values(sent).reduce((sum, count) => sum + count, 0),
    200
  )
  t.same(live.problems, [
    'trace many keeps its first 200 spans, and failed spans that replace others: later spans are left out'
  ])
  t.end()
})

t.test('a trace that is not sampled sends nothing unless something fails', t => {
  const sentBy = (act: (trace: Trace) => void, options = {}) => {
    const collected = collecting({ sampleRate: 0 })
    const trace = new Trace(collected.recorder, 'sampled', options)
    trace.startSpan('step').end()
    trace.score('s', 1)
    act(trace)
    trace.end()
    t.equal(collected.held(), 0)
    t.equal(collected.over.length, 1)
    return collected.parts.map(({ kind }) => kind)
  }
  t.same(
    sentBy(() => {}),
    []
  )
  t.same(
    sentBy(() => {}, { live: true }),
    []
  )
  t.same(
    sentBy(trace => t.match(trace.traceparent, /-00$/)),
    []
  )
  t.same(
    sentBy(trace => trace.recordError(new Error('no'))),
    ['record', 'score']
  )
  t.same(
    sentBy(trace => trace.startSpan('bad').end({ status: 'error' })),
    ['record', 'score']
  )
  // The id decides, so the share is right and all parts of a trace agree.
  const half = collecting({ sampleRate: 0.5 })
  for (let i = 0; i < 1000; i++) new Trace(half.recorder, 'half').end()
  t.ok(Math.abs(half.parts.length - 500) < 120, `${half.parts.length}`)
  t.end()
})

t.test("a step has its URL, and the trace's attributes", t => {
  const collected = collecting({ url: 'http://spoor:8787/base' })
  const trace = new Trace(collected.recorder, 'agent', { spanAttributes: { tenant: 'a', step: 0 } })
  const span = trace.startSpan('one', { attributes: { step: 1 } })
  t.equal(span.url, `http://spoor:8787/base/app/t/${trace.traceId}`)
  span.startSpan('two').end()
  span.end()
  trace.end()
  const { spans } = JSON.parse(collected.parts[0]!.body).trace
  t.same(
    spans.map(({ attributes }: { attributes: object }) => attributes),
    [
      { tenant: 'a', step: 0 },
      { tenant: 'a', step: 1 }
    ]
  )
  t.end()
})
