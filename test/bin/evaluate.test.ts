/** Tests `spoor evaluate` against a database. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ingestBody, span, startBody } from '../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../fixtures/bodies/otlp.ts'
import { freshId } from '../fixtures/database/seed.ts'
import { testFolder } from '../fixtures/folder.ts'
import { testService } from '../fixtures/service/service.ts'
import { configurationFor, jsonHere, runHere } from '../fixtures/service/spoor.ts'
import { guideCode } from '../plugins/docs/guide.ts'
import { ANSWER } from '../provider/facts.ts'
import { startProvider } from '../provider/provider.ts'

async function moduleOf(t: Test, text: string): Promise<string> {
  const file = join(await testFolder(t), 'evaluator.mjs')
  await writeFile(file, text)
  return file
}

const SHORT = `export default {
  id: 'short-answer',
  name: 'short',
  dataType: 'boolean',
  evaluate: ({ trace, spans }) => ({ value: String(trace.output).length < 5, comment: \`\${spans.length} spans\` })
}`

t.test('each trace is evaluated once, and again after it has grown', async t => {
  const { call, database } = await testService(t)
  const env = configurationFor(database)
  const file = await moduleOf(t, SHORT)
  const record = (path: string, body: object) => call('POST', path, { body })
  const [long, short, running] = [ingestBody({ output: 'a long answer' }), ingestBody({ output: 'ok' }), startBody()]
  for (const body of [long, short, running]) t.equal((await record('/api/v1/traces', body)).status, 201)
  const grown = freshId(32)
  await record('/api/v1/otlp/v1/traces', exportOf(otlpSpan({ traceId: grown })))

  const evaluate = (...more: string[]) => jsonHere(['evaluate', file, '--project', 'default', ...more], env)
  const first = await evaluate()
  t.match(first.evaluators, [{ id: 'short-answer', judged: 3, passed: 0, failed: 0, mean: 2 / 3 }])
  const { scores } = (await call('GET', `/api/v1/traces/${long.trace.id}/scores`)).body
  t.match(scores, [
    {
      name: 'short',
      value: false,
      comment: /^\d+ spans$/,
      source: 'eval',
      evaluatorId: 'short-answer',
      runId: first.runId
    }
  ])
  t.match((await evaluate()).evaluators, [{ judged: 0 }], 'nothing is evaluated twice')

  await record('/api/v1/otlp/v1/traces', exportOf(otlpSpan({ traceId: grown, parentSpanId: 'f'.repeat(16) })))
  await record(`/api/v1/traces/${running.trace.id}/end`, {
    schemaVersion: 1,
    endedAt: running.trace.startedAt,
    output: 'ok'
  })
  t.match((await evaluate()).evaluators, [{ judged: 2 }], 'traces that have grown or ended since')

  t.match((await evaluate()).evaluators, [{ judged: 0 }])
  const runs = await jsonHere(['evaluate', 'list', '--project', 'default'], env)
  t.match(runs, [
    { traces: 2 },
    { runId: first.runId, evaluatorId: 'short-answer', name: 'short', traces: 3, mean: 2 / 3 }
  ])
  const shown = await runHere(['evaluate', 'list', '--project', 'default'], env)
  t.match(shown.out, /RUN +EVALUATOR[\s\S]*short-answer +short +3 +66\.7 % true/)
})

t.test('two concurrent runs produce one verdict', async t => {
  const { call, database } = await testService(t)
  const env = configurationFor(database)
  const file = await moduleOf(t, SHORT)
  const bodies = Array.from({ length: 12 }, () => ingestBody())
  for (const body of bodies) await call('POST', '/api/v1/traces', { body })
  const runs = await Promise.all([1, 2].map(() => jsonHere(['evaluate', file, '--project', 'default'], env)))
  t.equal(runs[0].evaluators[0].judged + runs[1].evaluators[0].judged, bodies.length)
  for (const { trace } of bodies) {
    t.equal((await call('GET', `/api/v1/traces/${trace.id}/scores`)).body.scores.length, 1)
  }
})

t.test('errors are counted and reported, filters and limits apply, and the exit code can gate CI', async t => {
  const { call, database } = await testService(t)
  const env = configurationFor(database)
  for (const tags of [['a'], ['a'], ['b']]) await call('POST', '/api/v1/traces', { body: ingestBody({ tags }) })
  const throwing = await moduleOf(
    t,
    `export default [
      { id: 'x', name: 'n', dataType: 'numeric', evaluate({ trace }) { if (trace.tags[0] === 'b') throw new Error('no b'); return 1 } }
    ]`
  )
  const evaluate = (...more: string[]) => runHere(['evaluate', throwing, '--project', 'default', ...more], env)
  t.match(await evaluate('--tag', 'a', '--limit', '1'), { code: 0, out: /x +n +1 +mean 1\.000 +0/ })
  t.match(await evaluate(), { code: 0, err: /^x on trace [0-9a-f]{32}: no b\n$/, out: /x +n +1 +mean 1\.000 +1/ })
  t.match(await evaluate(), { code: 1, err: /all 1 evaluation of x failed: see above/ })
  t.match(await evaluate('--tag', 'a', '--fail-below', '0.5'), { code: 1, err: /no verdicts to compare/ })
  const low = await moduleOf(t, `export const id = 'y', name = 'n', dataType = 'numeric', evaluate = () => 0.25`)
  const gate = await runHere(['evaluate', low, '--project', 'default', '--fail-below', '0.5'], env)
  t.match(gate, { code: 1, err: /y: 0\.2500 is below 0\.5/ })

  const named = await moduleOf(
    t,
    `let n = 0
    export default { id: 'z', name: 'n', dataType: 'categorical', evaluate: () => ['a', 'b', 'b'][n++] }`
  )
  t.match(await runHere(['evaluate', named, '--project', 'default'], env), { code: 0, out: /z +n +3 +b 2, a 1 +0/ })
  t.match(await runHere(['evaluate', 'list', '--project', 'default'], env), { out: /z +n +3 +mostly b/ })

  const refused: [string[], number, RegExp][] = [
    [['nowhere.mjs'], 1, /there is no file "nowhere\.mjs"/],
    [[await moduleOf(t, 'export default 5')], 1, /an evaluator must be \{ id, name/],
    [[await moduleOf(t, 'export {')], 1, /cannot be loaded: /],
    [[throwing, '--concurrency', '0'], 2, /--concurrency must be from 1 to 100, not "0"/],
    [[named, '--fail-below', '1'], 2, /--fail-below needs numbers or booleans, but z returns categories/],
    [[throwing, '--fail-below', 'x'], 2, /--fail-below must be a number/],
    [[throwing, '--status', 'x'], 2, /--status must be one of/],
    [[throwing, '--step-kind', 'x'], 2, /--step-kind must be one of/],
    [[throwing, '--score', 'x<'], 2, /score: must be a name, a comparison/]
  ]
  for (const [args, code, message] of refused) {
    t.match(await runHere(['evaluate', ...args, '--project', 'default'], env), { code, out: '', err: message })
  }
  t.match(await runHere(['evaluate', throwing, '--project', 'none'], env), { code: 1, err: /no project "none"/ })
  t.match(await runHere(['evaluate', '--help'], env), { code: 0, out: /FILE is a JavaScript module/ })
})

t.test('every condition of the search selects traces, and each trace is still judged once', async t => {
  const { call, database } = await testService(t)
  const env = configurationFor(database)
  const file = await moduleOf(t, SHORT)
  const record = async (over: object) => {
    const body = ingestBody({ output: 'ok', ...over })
    t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
    return body.trace.id
  }
  const failed = span({ name: 'lookup', kind: 'tool', status: 'error', output: 'the shop is closed' })
  // More traces than the search returns in a page, so that the newest pages have none that remain.
  await Promise.all(Array.from({ length: 205 }, () => record({ spans: [failed], tags: ['many'] })))
  const both = await record({ startedAt: '2026-01-01T00:00:00Z', spans: [failed], tags: ['a', 'b'] })
  const one = await record({ startedAt: '2026-01-01T00:00:00Z', spans: [span({ name: 'lookup' })], tags: ['a'] })
  const scored = { name: 'helpfulness', dataType: 'numeric', value: 0.4 }
  t.equal((await call('POST', `/api/v1/traces/${one}/scores`, { body: scored })).status, 201)
  const running = startBody({ spans: [failed] })
  t.equal((await call('POST', '/api/v1/traces', { body: running })).status, 201)

  const evaluate = async (...more: string[]) => {
    const { evaluators } = await jsonHere(['evaluate', file, '--project', 'default', ...more], env)
    return evaluators[0].judged
  }
  const isJudged = async (id: string) => {
    const { scores } = (await call('GET', `/api/v1/traces/${id}/scores`)).body
    return scores.some(({ evaluatorId }: { evaluatorId: string | null }) => evaluatorId === 'short-answer')
  }
  t.equal(await evaluate('--step', 'nothing'), 0)
  t.equal(await evaluate('--step', 'lookup', '--step-status', 'error', '--error', 'closed', '--tag', 'many'), 205)
  t.equal(await isJudged(both), false)
  t.equal(await evaluate('--tag', 'a', '--tag', 'b'), 1)
  t.equal(await isJudged(both), true)
  t.equal(await evaluate('--score', 'helpfulness<0.3'), 0)
  t.equal(await evaluate('--score', 'helpfulness<0.5'), 1)
  t.equal(await isJudged(one), true)
  t.equal(await evaluate('--step', 'lookup'), 0, 'nothing is judged twice, and the running trace is skipped')
  const last = await record({ startedAt: '2026-01-01T00:00:00Z', spans: [failed] })
  t.equal(await evaluate('--step', 'lookup', '--limit', '1'), 1, 'pages of judged traces come before it')
  t.equal(await isJudged(last), true)
  t.equal(await evaluate('--errors', '--min-duration', '1h'), 0)
})

t.test("the guide's evaluator asks a model", async t => {
  const provider = await startProvider()
  t.teardown(provider.close)
  const { call, database } = await testService(t)
  const [judge = ''] = guideCode((await call('GET', '/docs/scores')).text, 'evaluate', 'js')
  t.ok(judge.trim().split('\n').length <= 25)
  const file = await moduleOf(t, judge)
  await call('POST', '/api/v1/traces', { body: ingestBody({ input: 'How are you?', output: 'Fine.' }) })
  process.env.OPENAI_BASE_URL = `${provider.url}/v1`
  t.teardown(() => delete process.env.OPENAI_BASE_URL)
  const { evaluators } = await jsonHere(['evaluate', file, '--project', 'default'], configurationFor(database))
  t.match(evaluators, [{ id: 'answers-the-question', judged: 1, failed: 0, mean: 0 }])
  const { scores } = (await call('GET', '/api/v1/scores')).body
  t.match(scores, [{ name: 'answered', value: false, comment: ANSWER }])
})
