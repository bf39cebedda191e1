import t from 'tap'
import { demoTraces, WRITTEN_OUT } from '../../../lib/demo/traces.ts'
import { checker } from '../../../lib/schema/check.ts'
import { ScoreInput } from '../../../lib/schema/input.ts'
import { prepare } from '../../../lib/trace/prepare.ts'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const bytes = (body: object) => Buffer.from(JSON.stringify(body))
/** Reads each trace's bodies as the routes do. */
const recorded = (count?: number) =>
  [...demoTraces(NOW, { count })].map(({ body, appended = [], end, scores = [] }) => {
    const trace = prepare('record', bytes(body))
    const append = appended.length === 0 ? [] : prepare('append', bytes({ schemaVersion: 1, spans: appended })).spans
    const ended = end && prepare('end', bytes(end))
    return { trace, ended, scores, spans: [...trace.spans, ...append, ...(ended?.spans ?? [])] }
  })

t.test('the demo contains every kind of span of such an application', async t => {
  const kinds = recorded().flatMap(({ spans }) => spans.map(({ kind }) => kind))
  const known = ['agent', 'llm', 'retriever', 'tool', 'chain', 'embedding', 'reranker', 'custom']
  t.same(new Set(kinds), new Set(known))
})

t.test('all traces are in chronological order within the last day, and one is running', async t => {
  const traces = recorded(200)
  t.equal(traces.length, 200)
  t.equal(recorded().length, WRITTEN_OUT)
  const starts = traces.map(({ trace }) => trace.startedAt)
  t.strictSame(starts, starts.toSorted())
  for (const { trace, ended, spans } of traces) {
    const last = ended?.endedAt ?? trace.endedAt ?? new Date(NOW).toISOString()
    t.ok(Date.parse(trace.startedAt) > NOW - 25 * 3_600_000 && Date.parse(last) <= NOW, trace.name)
    for (const { name, startedAt, endedAt } of spans) t.ok(startedAt >= trace.startedAt && endedAt <= last, name)
  }
  t.equal(traces.filter(({ trace, ended }) => trace.status === 'running' && ended === undefined).length, 1)
})

t.test("each span's parent is in its trace, and all ids are unique", async t => {
  for (const { trace, spans } of recorded(50)) {
    const ids = new Set(spans.map(({ id }) => id))
    t.equal(ids.size, spans.length, trace.name)
    for (const { name, parentId } of spans) t.ok(parentId === null || ids.has(parentId), name)
  }
})

t.test('every run adds traces', async t => {
  const ids = [...recorded(), ...recorded()].map(({ trace }) => trace.traceId)
  t.equal(new Set(ids).size, ids.length)
})

t.test('the route accepts the scores, which refer to existing spans', async t => {
  const { check } = checker(ScoreInput)
  for (const { scores, spans } of recorded(50)) {
    for (const score of scores) {
      t.ok(check(score), score.name)
      t.ok(score.spanId === undefined || spans.some(({ id }) => id === score.spanId), score.name)
    }
  }
})

t.test('the picture and the recording are what they claim to be', async t => {
  const texts = JSON.stringify([...demoTraces(NOW)])
  const [, picture] = /data:image\/png;base64,([\w+/=]+)/.exec(texts) ?? []
  const [, recording] = /"format":"wav","data":"([\w+/=]+)"/.exec(texts) ?? []
  const png = Buffer.from(picture!, 'base64')
  t.equal(png.subarray(1, 4).toString(), 'PNG')
  t.same([png.readUInt32BE(16), png.readUInt32BE(20)], [240, 150])
  const wav = Buffer.from(recording!, 'base64')
  t.equal(wav.subarray(8, 16).toString(), 'WAVEfmt ')
  t.equal(wav.readUInt32LE(4) + 8, wav.length)
})
