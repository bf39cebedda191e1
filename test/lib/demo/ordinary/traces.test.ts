import t from 'tap'
import { ordinaryTraces } from '../../../../lib/demo/ordinary/traces.ts'
import { MAX_BODY_BYTES, MAX_SPANS } from '../../../../lib/schema/input.ts'

const END = Date.parse('2026-11-21T12:00:00Z')
const DAY = 24 * 3_600_000
const made = (count: number, days?: number, seed?: number) => [...ordinaryTraces(END, count, days, seed)]
/** Renders traces without their ids, which are new in each run. */
const withoutIds = (traces: ReturnType<typeof made>) =>
  JSON.stringify(traces, (key, value) => (/^(id|parentSpanId|spanId)$/.test(key) ? '' : value))

t.test('traces lie within the period, oldest first', async t => {
  t.same(made(0), [])
  t.same(made(-3), [])
  for (const days of [1, 30]) {
    const starts = made(300, days).map(({ body }) => Date.parse(body.trace.startedAt))
    t.equal(starts.length, 300)
    t.same(
      starts,
      starts.toSorted((a, b) => a - b)
    )
    t.ok(starts[0]! >= END - days * DAY && starts.at(-1)! <= END)
    t.ok(starts.at(-1)! - starts[0]! > days * DAY * 0.8, 'over the whole period')
  }
})

t.test('the same seed generates the same traces with new ids', async t => {
  t.equal(withoutIds(made(200, 7, 5)), withoutIds(made(200, 7, 5)))
  t.not(withoutIds(made(200, 7, 5)), withoutIds(made(200, 7, 6)))
  const ids = [...made(50), ...made(50)].map(({ body }) => body.trace.id)
  t.equal(new Set(ids).size, 100)
})

t.test('a month contains everything that the dashboard shows', async t => {
  const all = made(1500, 30)
  const traces = all.map(({ body }) => body.trace)
  const distinct = (values: unknown[]) => new Set(values.filter(value => value !== undefined)).size
  t.ok(distinct(traces.map(({ name }) => name)) === 8)
  t.ok(distinct(traces.map(({ model }) => model)) >= 5)
  t.ok(distinct(traces.map(({ userId }) => userId)) > 25)
  t.same(new Set(all.map(({ environment }) => environment)).size, 3)
  const tags = new Set(traces.flatMap(({ tags = [] }) => tags))
  for (const tag of ['prompt:v12', 'prompt:v13', 'tenant:acme', 'release:2.14.0']) t.ok(tags.has(tag), tag)
  const turns = new Map<string, number>()
  for (const { sessionId } of traces) if (sessionId) turns.set(sessionId, (turns.get(sessionId) ?? 0) + 1)
  t.ok([...turns.values()].filter(count => count >= 3).length > 20, 'conversations of several turns')
  const long = traces.filter(({ spans = [] }) => spans.length >= 50)
  t.ok(long.length > 10 && long.some(({ spans = [] }) => spans.length > 120), 'long runs')
  t.equal(traces.filter(({ endedAt }) => endedAt === undefined).length, 3, 'running')
  t.ok(traces.some(({ usage }) => usage === undefined) && traces.some(({ usage }) => usage !== undefined))
  t.ok(traces.some(({ costUsd }) => costUsd === undefined) && traces.some(({ costUsd }) => costUsd !== undefined))
  t.same(new Set(all.flatMap(({ scores = [] }) => scores.map(({ dataType }) => dataType))).size, 3)
})

t.test('failures have several causes, and some runs recover', async t => {
  const traces = made(2000, 30).map(({ body }) => body.trace)
  const failed = traces.filter(({ status }) => status === 'error')
  t.ok(failed.length > 60 && failed.length < 300, `${failed.length} failed`)
  const spans = traces.flatMap(({ spans = [] }) => spans)
  const types = spans.flatMap(({ events = [] }) =>
    events.map(({ attributes }) => Object(attributes)['exception.type'] as string)
  )
  for (const type of ['RateLimitError', 'APITimeoutError', 'AssertionError', 'MaxStepsExceeded', 'DatabaseError']) {
    t.ok(types.includes(type), type)
  }
  const recovered = traces.filter(({ status, spans = [] }) => status === 'ok' && spans.some(s => s.status === 'error'))
  t.ok(recovered.length > 40, `${recovered.length} recovered`)
  for (const trace of failed)
    t.ok(
      trace.spans?.some(({ status }) => status === 'error'),
      trace.name
    )
})

t.test('tokens and reported costs are the sums of the steps, and each trace fits into a request', async t => {
  for (const { body } of made(1500, 30)) {
    const { spans = [], usage, costUsd, name } = body.trace
    const calls = spans.filter(({ kind }) => kind === 'llm')
    const sum = (of: (call: (typeof calls)[number]) => number | undefined) =>
      calls.reduce((total, call) => total + (of(call) ?? 0), 0)
    const tokens = sum(call => call.usage?.totalTokens)
    if (usage !== undefined) t.equal(usage.totalTokens, tokens, name)
    if (costUsd !== undefined) t.ok(Math.abs(costUsd - sum(call => call.costUsd)) < 1e-9, name)
    t.ok(spans.length <= MAX_SPANS, `${name} has ${spans.length} spans`)
    t.ok(JSON.stringify(body).length < MAX_BODY_BYTES, name)
  }
})
