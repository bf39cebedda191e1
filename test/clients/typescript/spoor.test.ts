import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type Evaluator, evaluate, Spoor, type SpoorOptions } from '../../../clients/typescript/index.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { testService } from '../../fixtures/service/service.ts'
import { clientTypes } from './api-types.ts'

const FILE = 'clients/typescript/api-types.ts'
const BIOME = fileURLToPath(new URL('../../../../node_modules/.bin/biome', import.meta.url))

t.test('the client, against a server', async t => {
  const { url, key, call } = await testService(t)
  const read = async (traceId: string) => (await call('GET', `/api/v1/traces/${traceId}`)).body
  const problems: string[] = []
  const make = async (t: Test, options: SpoorOptions = {}) => {
    const spool = await testFolder(t)
    const spoor = new Spoor({ url, key, spool, onProblem: problem => problems.push(problem), ...options })
    t.teardown(() => spoor.close({ timeoutMs: 1000 }))
    return spoor
  }

  t.test('has the types of the OpenAPI document', async t => {
    const made = clientTypes((await call('GET', '/api/v1/openapi.json')).body)
    const formatted = spawnSync(BIOME, ['format', '--stdin-file-path', FILE], { input: made, encoding: 'utf8' })
    t.equal(formatted.status, 0, formatted.stderr)
    // `npm run client-types` sets SPOOR_CLIENT_TYPES.
    if (process.env.SPOOR_CLIENT_TYPES === 'write') writeFileSync(FILE, formatted.stdout)
    t.equal(existsSync(FILE) && readFileSync(FILE, 'utf8'), formatted.stdout, 'npm run client-types generates them')
  })

  t.test('stores a whole trace with more than 200 spans, whose URL is the dashboard’s', async t => {
    const spoor = await make(t)
    const trace = spoor.start('many', { input: 'in', sessionId: 's-many', tags: ['big'] })
    for (let i = 0; i < 450; i++) trace.startSpan(`step ${i}`, { kind: 'tool' }).end({ output: i })
    trace.score('good', true).end({ output: 'out', status: 'ok' })
    t.match(await spoor.flush({ timeoutMs: 60_000 }), { sent: 1, kept: 0, lostCount: 0, problems: [] })
    const stored = await read(trace.traceId)
    t.match(stored.trace, {
      name: 'many',
      status: 'ok',
      input: 'in',
      output: 'out',
      sessionId: 's-many',
      tags: ['big']
    })
    t.equal(stored.spans.filter(({ kind }: { kind: string }) => kind === 'tool').length, 450)
    t.match(stored.scores, [{ name: 'good', value: true }])
    t.equal(trace.url, `${url}/app/t/${trace.traceId}`)
    t.not((await call('GET', new URL(trace.url).pathname, { key: null })).status, 404)
  })

  t.test('an observed function can omit its arguments or its result', async t => {
    const spoor = await make(t)
    const ids: string[] = []
    const give = (text: string) => {
      ids.push(spoor.current()!.traceId)
      return `result of ${text}`
    }
    spoor.observe(give, { captureInput: false })('secret')
    spoor.observe(give, { captureOutput: false })('secret')
    const stream = spoor.observe(
      function* (text: string) {
        ids.push(spoor.current()!.traceId)
        yield text
      },
      { captureOutput: false, name: 'stream' }
    )
    t.same([...stream('secret')], ['secret'])
    await spoor.flush({ timeoutMs: 60_000 })
    const traces = await Promise.all(ids.map(async id => (await read(id)).trace))
    t.match(traces, [
      { input: null, output: 'result of secret', status: 'ok' },
      { input: 'secret', output: null, status: 'ok' },
      { input: 'secret', output: null, status: 'ok' }
    ])
  })

  t.test('records a trace with its steps, scores, usage and errors', async t => {
    const spoor = await make(t)
    let traceId = ''
    const search = spoor.observe(async function search(question: string) {
      await delay(1)
      return [`about ${question}`]
    })
    const failure = await spoor
      .trace(
        'agent',
        { sessionId: 's1', userId: 'u1', tags: ['a'], input: 'why?', metadata: { tier: 1 } },
        async trace => {
          traceId = trace.traceId
          t.equal(spoor.current(), trace)
          await search('why?')
          trace.span('model', { kind: 'llm', model: 'm-1', provider: 'p', input: { n: 1n } }, span => {
            span.setUsage({ inputTokens: 3, outputTokens: 4 }).setCost(0.5)
            spoor.span('inner', () => undefined)
            span.span('event', inner => void inner.addEvent('seen', { at: 1 }))
            return { said: 'because' }
          })
          trace.score('helpful', true, { comment: 'yes' }).addTags('b')
          throw new Error('too bad')
        }
      )
      .catch(error => error)
    t.equal(failure.message, 'too bad')
    t.match(await spoor.flush({ timeoutMs: 60_000 }), { sent: 1, kept: 0, lostCount: 0, problems: [] })
    const { trace, spans, scores } = await read(traceId)
    t.match(trace, {
      ...{ name: 'agent', status: 'error', sessionId: 's1', userId: 'u1', tags: ['a', 'b'], input: 'why?' },
      ...{ model: 'm-1', provider: 'p', usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 }, costUsd: 0.5 },
      metadata: { tier: 1, error: { name: 'Error', message: 'too bad' } }
    })
    t.match(
      spans.map(({ name, kind, status }: Record<string, string>) => [name, kind, status]),
      [
        ['search', 'custom', 'ok'],
        ['model', 'llm', 'ok'],
        ['inner', 'custom', 'ok']
      ]
    )
    t.match(spans[0], { input: 'why?', output: ['about why?'], parentSpanId: null })
    t.match(spans[1], { input: { n: '1' }, output: { said: 'because' }, usage: { totalTokens: 7 } })
    t.equal(spans[2].parentSpanId, spans[1].id)
    t.match(spans[3], { parentSpanId: spans[1].id, events: [{ name: 'seen', attributes: { at: 1 } }] })
    t.match(scores, [{ name: 'helpful', dataType: 'boolean', value: true, comment: 'yes' }])
  })

  t.test('shows a live trace while it runs', async t => {
    const spoor = await make(t, { live: true })
    const trace = spoor.start('long run', { input: 1, metadata: { one: 1 } })
    trace.startSpan('first').end({ output: 'x' })
    trace.score('early', 0.5)
    await spoor.flush({ timeoutMs: 60_000 })
    t.match(await read(trace.traceId), {
      trace: { status: 'running', spanCount: 1, scores: { early: { value: 0.5 } } }
    })
    trace.startSpan('second').end()
    trace.setMetadata({ two: 2 }).end({ status: 'ok', output: 'done' })
    t.match(await spoor.flush({ timeoutMs: 60_000 }), { sent: 1, kept: 0, lostCount: 0 })
    t.match((await read(trace.traceId)).trace, {
      status: 'ok',
      spanCount: 2,
      output: 'done',
      metadata: { one: 1, two: 2 }
    })
  })

  t.test('sends a trace that exceeds one request in several, and cuts values that no document can hold', async t => {
    const spoor = await make(t)
    const trace = spoor.start('large', { input: 'i'.repeat(4_000_000) })
    for (let i = 0; i < 5; i++)
      trace.startSpan(`part ${i}`, { input: 'x'.repeat(300_000) }).end({ output: 'é'.repeat(200_000) })
    trace.end({ output: { text: 'o'.repeat(1_500_000) } })
    t.match(await spoor.flush({ timeoutMs: 60_000 }), { sent: 1, kept: 0, lostCount: 0, problems: [] })
    const { trace: stored, spans } = await read(trace.traceId)
    t.match(stored.input, /^i{300000,}…\[cut 3,\d{3},\d{3} characters\]$/)
    t.match(stored.metadata.spoor, { cut: 7 })
    t.equal(spans.length, 5)
    t.equal(spans[4].input.length, 300_000)
  })

  t.test("joins another service's trace, and lets others join", async t => {
    const spoor = await make(t)
    const outer = spoor.start('caller', {
      input: { q: [1.5, true] },
      tags: ['x', 'y'],
      sessionId: 's',
      userId: 'u',
      metadata: { m: { n: 1 } }
    })
    const span = outer.startSpan('call', { kind: 'tool' })
    const headers = { traceparent: span.traceparent }
    spoor.trace('callee', spoor.fromHeaders(headers), trace => {
      trace.span('model', { kind: 'llm', model: 'm', input: 'in' }, inner => void inner.setUsage({ inputTokens: 2 }))
      trace.score('local', 1)
      return { answer: 42 }
    })
    span.end({ output: 'called' })
    outer.end({ output: 'end' })
    t.match(await spoor.flush({ timeoutMs: 60_000 }), { kept: 0, lost: [], problems: [] })
    const { trace, spans, scores } = await read(outer.traceId)
    t.match(trace, {
      name: 'caller',
      input: { q: [1.5, true] },
      output: 'end',
      tags: ['x', 'y'],
      sessionId: 's',
      userId: 'u'
    })
    t.match(trace.metadata, { m: { n: 1 } })
    const tree = new Map<string, string>(spans.map(({ id, name }: Record<string, string>) => [id, name]))
    t.same(
      spans.map(({ name, parentSpanId }: Record<string, string>) => [name, tree.get(parentSpanId!) ?? null]),
      [
        ['caller', null],
        ['call', 'caller'],
        ['callee', 'call'],
        ['model', 'callee']
      ]
    )
    t.match(spans[3], { kind: 'llm', model: 'm', input: 'in', usage: { inputTokens: 2 } })
    t.match(spans[2], { output: { answer: 42 } })
    t.equal(scores[0].spanId, spans[2].id)
  })

  t.test('reads, following cursors', async t => {
    const spoor = await make(t)
    for (let i = 0; i < 3; i++) spoor.trace('listed', () => i)
    const scored = spoor.start('scored').score('n', 1).score('n', 2)
    scored.end()
    const { traceId } = scored
    await spoor.flush({ timeoutMs: 60_000 })
    const outputs: unknown[] = []
    for await (const { id } of spoor.traces.all({ name: 'listed', limit: 2 })) {
      outputs.push((await spoor.traces.get(id)).trace.output)
    }
    t.same(outputs, [2, 1, 0])
    const [newest, before] = (await spoor.traces.scores(traceId)).scores
    t.match([newest, before], [{ value: 2 }, { value: 1 }])
    await spoor.scores.delete(traceId, newest!.id)
    t.match((await spoor.traces.scores(traceId)).scores, [{ id: before!.id }])
    t.equal((await spoor.key()).projectId, (await spoor.project()).id)
    await t.rejects(spoor.traces.get('none'), { name: 'SpoorError', status: 404, code: 'not_found' })
    await t.rejects(spoor.traces.list({ status: 'odd' as 'ok' }), { status: 400, code: 'invalid_request' })
  })

  t.test('evaluates stored traces once', async t => {
    const spoor = await make(t)
    for (const output of [1, 2, 3]) spoor.trace('judged', () => output)
    await spoor.flush()
    const evaluator: Evaluator = {
      name: 'large',
      evaluate({ trace }) {
        if (trace.output === 1) throw new Error('too small')
        return trace.output === 2 ? undefined : { value: true, comment: 'three' }
      }
    }
    t.match(await evaluate(spoor, evaluator, { name: 'judged' }), {
      judged: 1,
      passed: 1,
      failed: 1,
      failures: [{ reason: 'too small' }],
      mean: 1
    })
    t.match(await spoor.flush(), { kept: 0, lostCount: 0 })
    t.match(await spoor.scores.list({ name: 'large' }), { scores: [{ value: true, comment: 'three', source: 'api' }] })
    t.match(await evaluate(spoor, evaluator, { name: 'judged' }), { judged: 0 })
  })

  t.test('evaluates new traces, each once, until it is stopped', async t => {
    const spoor = await make(t)
    const end = new AbortController()
    const asked: unknown[] = []
    const evaluator: Evaluator = {
      name: 'followed',
      evaluate({ trace }) {
        asked.push(trace.output)
        if (asked.length === 1) spoor.trace('followed', () => 'second')
        else end.abort()
        return undefined
      }
    }
    spoor.trace('followed', () => 'first')
    await spoor.flush()
    const following = evaluate(spoor, evaluator, { name: 'followed' }, { follow: true, signal: end.signal })
    t.match(await following, { judged: 0, passed: 2, failed: 0, failures: [], mean: undefined })
    t.same(asked, ['first', 'second'])
    // If a retry cannot succeed either, a rejected request ends the run.
    const wrong = evaluate(spoor, evaluator, { limit: -1 }, { follow: true })
    await t.rejects(wrong, { name: 'SpoorError', status: 400 })
    t.match(await evaluate(spoor, evaluator, {}, { signal: end.signal }), { passed: 0 }, 'nothing is started')
  })
  t.same(problems, [])
})
