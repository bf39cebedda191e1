/** Tests rules for all transcripts: the steps that the start of a transcript yields are final, and steps are unique. */
import fc from 'fast-check'
import t from 'tap'
import { otlpRequest } from '../../../../lib/moving/transcripts/otlp-request.ts'
import { type AgentStep, readJson } from '../../../../lib/moving/transcripts/transcript.ts'
import { stringifyExact } from '../../../../lib/trace/json/exact-json.ts'
import { runs } from '../../../torture/orders.ts'
import { spansOf } from '../../otlp/mapped.ts'
import { REAL_TRANSCRIPTS, stepsOf } from './transcripts.ts'

const idsOf = (steps: readonly AgentStep[]) => steps.map(({ traceId, spanId }) => traceId + spanId)
const sorted = (steps: readonly AgentStep[]) => steps.map(step => JSON.stringify(step)).sort()

t.test('every beginning of a transcript, after any pause, yields only steps that the whole transcript yields', t => {
  t.ok(REAL_TRANSCRIPTS.length >= 9)
  fc.assert(
    fc.property(
      fc.constantFrom(...REAL_TRANSCRIPTS),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.constantFrom(0, 10_000, 600_000),
      ({ lines, open }, share, quietMs) => {
        const end = Math.floor(share * lines.length)
        const whole = new Set(sorted(stepsOf(open(), lines, 600_000)))
        for (const step of sorted(stepsOf(open(), lines.slice(0, end), quietMs))) {
          if (!whole.has(step)) throw new Error(`after ${end} lines: ${step}`)
        }
      }
    ),
    runs(500)
  )
  t.end()
})

t.test('imports of successive beginnings, with pauses of any length, add up to the import of the whole', t => {
  fc.assert(
    fc.property(
      fc.constantFrom(...REAL_TRANSCRIPTS),
      fc.array(fc.tuple(fc.nat(80), fc.constantFrom(0, 10_000, 600_000)), { maxLength: 6 }),
      ({ lines, open }, pauses) => {
        const whole = sorted(stepsOf(open(), lines, 600_000))
        const imported = new Map<string, AgentStep>()
        const follower = open()
        const followed: AgentStep[] = []
        let read = 0
        for (const [end, quietMs] of [...pauses.sort(([a], [b]) => a - b), [lines.length, 600_000] as const]) {
          for (const step of stepsOf(open(), lines.slice(0, end), quietMs))
            imported.set(step.traceId + step.spanId, step)
          followed.push(...stepsOf(follower, lines.slice(read, end), quietMs))
          read = Math.max(read, Math.min(end, lines.length))
        }
        if (JSON.stringify(sorted([...imported.values()])) !== JSON.stringify(whole)) throw new Error('repeated')
        if (JSON.stringify(sorted(followed)) !== JSON.stringify(whole)) throw new Error('followed')
      }
    ),
    runs(300)
  )
  t.end()
})

t.test('the real transcripts yield each step once, below existing roots', t => {
  const steps = REAL_TRANSCRIPTS.flatMap(({ lines, open }) => stepsOf(open(), lines, 600_000))
  t.equal(new Set(idsOf(steps)).size, steps.length)
  const known = new Set(idsOf(steps))
  for (const { traceId, parentSpanId, name } of steps) {
    t.ok(parentSpanId === undefined || known.has(traceId + parentSpanId), name)
  }
  t.end()
})

t.test('JSON is read exactly, unless it is invalid or too deep', t => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  for (const text of ['', '{', '{"a', '{"a":"b\\"', '"', nested(100_000), '['.repeat(100_000)]) {
    t.equal(readJson(text), undefined, text.slice(0, 20))
  }
  t.equal(stringifyExact(readJson('{"n":1.0e400,"m":12345678901234567890}')), '{"n":1.0e400,"m":12345678901234567890}')
  t.same(readJson(nested(100)), JSON.parse(nested(100)))
  t.end()
})

t.test('the export is read as intended', t => {
  const [first] = REAL_TRANSCRIPTS.map(({ lines, open }) => stepsOf(open(), lines, 600_000))
  const spans = spansOf(JSON.parse(otlpRequest(first!)))
  t.match(spans.map(({ kind }) => kind).slice(0, 7), ['tool', 'llm', 'tool', 'tool', 'llm', 'llm', 'agent'])
  const call = spans.find(({ kind }) => kind === 'llm')
  t.match(call, {
    model: 'claude-sonnet-4-5',
    provider: 'anthropic',
    usage: { inputTokens: 18_912, outputTokens: 42 },
    startedAt: '2026-11-27T03:17:24.655Z'
  })
  t.end()
})
