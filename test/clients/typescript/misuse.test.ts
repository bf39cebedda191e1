/** Calls that TypeScript rejects but JavaScript allows: each is described, and none disturbs the application. */
import t from 'tap'
import { Spoor, SpoorError } from '../../../clients/typescript/index.ts'
import { recordInMemory } from '../../../clients/typescript/testing.ts'
import { spoorMiddleware } from '../../../clients/typescript/wrap/ai-sdk.ts'
import { wrapAnthropic } from '../../../clients/typescript/wrap/anthropic.ts'
import { wrapBedrock } from '../../../clients/typescript/wrap/bedrock.ts'
import { wrapGemini } from '../../../clients/typescript/wrap/gemini.ts'
import { langchainHandler } from '../../../clients/typescript/wrap/langchain.ts'
import { wrapMistral } from '../../../clients/typescript/wrap/mistral.ts'
import { wrapOllama } from '../../../clients/typescript/wrap/ollama.ts'
import { wrapOpenAI } from '../../../clients/typescript/wrap/openai.ts'

// biome-ignore lint/suspicious/noExplicitAny: the calls have wrong types on purpose.
type Any = any

const spoorWith = (options: Any) => {
  const problems: string[] = []
  const spoor = new Spoor({ key: 'k', spool: false, onProblem: (text: string) => problems.push(text), ...options })
  return { spoor, problems }
}

t.test('options that have no effect are reported, and the defaults apply', async t => {
  const given = { apiKey: 'k', live: 'yes', sampleRate: '0.5', memoryBytes: '1 MB', spoolBytes: {} }
  const { spoor, problems } = spoorWith(given)
  const ignored = 'apiKey, live, sampleRate, memoryBytes, spoolBytes'
  t.same(problems, [`unknown or wrongly typed options are ignored: ${ignored}`])
  t.match(await spoor.close({ timeoutMs: 0 }), { problems })
  const well = spoorWith({ url: new URL('http://127.0.0.1:1'), live: undefined, redact: null, sampleRate: 0 })
  t.same(well.problems, [])
  await well.spoor.close({ timeoutMs: 0 })
  for (const options of ['spoor_live_x', null, 7] as Any[]) await new Spoor(options).close({ timeoutMs: 0 })
})

t.test('values are hidden if redact is not a function', t => {
  const { spoor, traces, problems } = recordInMemory({ redact: 'password' as Any })
  spoor.trace('x', { input: 'secret' }, () => 'secret')
  t.same(problems, ['unknown or wrongly typed options are ignored: redact'])
  t.match(traces, [{ input: '[redact threw]', output: '[redact threw]' }])
  t.end()
})

t.test('a value that is not recorded as given is reported, and the rest is recorded', t => {
  const act = (trace: Any) => trace.startSpan('s', { kind: 'LLM' }).end()
  for (const [options, expected] of [
    [{ user: 'u' }, /^user is not an option of traces or spans; the options are input, model, .*userId/],
    [{ tags: 'abc' }, /^tags must be a list$/],
    [{ tags: 7 }, /^tags must be a list/],
    [{ metadata: 'abc' }, /^attributes and metadata must be objects/],
    [
      { usage: { prompt_tokens: 7 } },
      /^usage has prompt_tokens, but must have whole numbers as inputTokens, outputTokens, totalTokens$/
    ],
    [{ costUsd: 'free' }, /^costUsd must be a positive number/],
    [{ startedAt: Object.create(null) }, /^startedAt must be a Date/],
    ...['00-zz', 5, {}, { traceId: 'q', spanId: 'r' }].map(parent => [{ parent }, /^parent must be from/] as const)
  ] as const) {
    const { spoor, one, problems } = recordInMemory()
    t.equal(
      spoor.trace('x', options as Any, trace => {
        act(trace)
        return 5
      }),
      5
    )
    t.match(problems, [expected, /^kind is LLM, but must be one of llm, .*custom$/])
    t.match(one('x'), { output: 5, spans: [{ name: 's', kind: 'custom' }] })
    t.equal(one('x').tags, undefined)
  }
  const { spoor, one, problems } = recordInMemory()
  const all = {
    ...{ user: undefined, kind: 'tool', attributes: { team: 'a' }, userId: Object.create(null) },
    parent: null
  }
  spoor.span('alone', all as Any, () => 1)
  spoor.trace('x', null as Any, (trace: Any) => trace.setMetadata(null).setMetadata(undefined).setStatus('done'))
  t.match(one('alone'), { metadata: { team: 'a' }, userId: 'unknown' }, 'attributes of a step that is a trace')
  t.match(problems, [
    /^user is not/,
    /^attributes and metadata must be objects/,
    /^status is done, but must be one of ok, /
  ])
  t.end()
})

t.test('a call without a function to run is refused, and nothing is recorded', t => {
  const { spoor, traces } = recordInMemory()
  const { trace, span, observe } = { trace: spoor.trace, span: spoor.span, observe: spoor.observe } as Any
  const shape = {
    name: 'TypeError',
    message: 'trace and span take (name, options, function)'
  }
  for (const method of [trace, span]) {
    for (const given of [[() => 1], ['x'], ['x', {}], ['x', () => 1, { tags: ['a'] }], []]) {
      t.throws(() => method.apply(spoor, given), shape)
    }
  }
  for (const given of [[], ['answer'], ['answer', () => 1]]) {
    t.throws(() => observe.apply(spoor, given), { message: 'observe takes (function, options)' })
  }
  t.same(traces, [])
  t.end()
})

t.test('a wrapper says that it was given something else', t => {
  for (const [name, wrap] of Object.entries<Any>({
    ...{ wrapOpenAI, wrapAnthropic, wrapGemini },
    ...{ wrapMistral, wrapOllama, wrapBedrock }
  })) {
    for (const client of [undefined, null, {}, { chat: {} }, class Client {}]) {
      const { spoor, problems } = recordInMemory()
      t.equal(wrap(client, spoor), client)
      t.same(problems, [`${name} records nothing, because its argument is not a client that it knows`])
      const missing = { name: 'TypeError', message: `the Spoor client is missing: ${name}(client, spoor)` }
      t.throws(() => wrap(client, undefined), missing)
      t.throws(() => wrap(spoor, client), missing)
    }
  }
  t.end()
})

t.test('the integrations need the Spoor client', t => {
  for (const [name, make] of Object.entries<Any>({ langchainHandler, spoorMiddleware })) {
    t.throws(() => make(), { name: 'TypeError', message: `the Spoor client is missing: ${name}(spoor)` })
  }
  t.end()
})

t.test('a client without a key says so when it reads', async t => {
  const problems: string[] = []
  const spoor = new Spoor({ key: '', onProblem: text => problems.push(text) })
  const reads: Promise<unknown>[] = [spoor.traces.list(null as Any), spoor.project(), spoor.traces.get('x')]
  for (const read of reads) {
    await t.rejects(read, new SpoorError('there is no key: set SPOOR_API_KEY', 0))
  }
  await spoor.close()
})

t.test('a test that finds no trace, or several, names those recorded', t => {
  const { spoor, one } = recordInMemory()
  t.throws(() => one('x'), { message: 'no trace is named x; recorded: none' })
  for (const name of ['a', 'a']) spoor.trace(name, () => 1)
  t.throws(() => one('a'), { message: '2 traces are named a; recorded: a, a' })
  t.end()
})
