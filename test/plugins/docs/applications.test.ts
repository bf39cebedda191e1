/**
 * Runs the guide's complete applications (plugins/docs/examples). guide.test.ts compiles the TypeScript applications,
 * and this file runs them. clients/python/tests/guide/test_examples.py runs the Python applications, and
 * test/libraries/agents.ts runs the LangGraph applications.
 */
import { type ChildProcessWithoutNullStreams, execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { transformSync } from 'esbuild'
import t, { type Test } from 'tap'
import { Spoor } from '../../../clients/typescript/index.ts'
import { NODE, spawnNode } from '../../fixtures/node.ts'
import { freePort } from '../../fixtures/ports.ts'
import { testService } from '../../fixtures/service/service.ts'
import { until } from '../../fixtures/until.ts'
import { treeOf } from '../../senders/tree.ts'
import { guideCode, readGuide } from './guide.ts'

const FOLDER = 'plugins/docs/examples'
const MOST_LINES = 60

const files = readdirSync(FOLDER)
  .filter(name => /\.(?:ts|py)$/.test(name))
  .sort()
const sourceOf = (name: string) => readFileSync(join(FOLDER, name), 'utf8')

const { url, key, call } = await testService(t)
const client = new Spoor({ url, key, spool: false })
t.teardown(() => client.close())

t.test('each file is shown once, can be downloaded, and is short', async t => {
  const text = await readGuide(async path => (await call('GET', path, { key: null })).text)
  const shown = ['ts', 'python'].flatMap(language => guideCode(text, 'applications', language))
  t.same(shown.sort(), files.map(name => sourceOf(name).trimEnd()).sort())
  for (const name of files) {
    const answer = await call('GET', `/docs/examples/${name}`, { key: null })
    t.match(answer, { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' } }, name)
    t.equal(answer.text, sourceOf(name), name)
    t.match(text, `<a href="../docs/examples/${name}" download>`)
    t.ok(sourceOf(name).split('\n').length <= MOST_LINES + 1, name)
  }
})

t.test('a server with Express', async t => {
  const port = await freePort()
  const { child, said } = start(t, 'server.ts', { PORT: String(port) })
  await until(() => said.out.includes('listening'))
  const post = async (path: string, body: object, headers = {}) => {
    const type = { 'content-type': 'application/json' }
    const init = { method: 'POST', headers: { ...type, ...headers }, body: JSON.stringify(body) }
    return fetch(`http://127.0.0.1:${port}${path}`, init)
  }
  const caller = client.start('caller')
  const answer = await post('/questions', { question: 'Where?' }, { traceparent: caller.traceparent, 'x-user': 'u-1' })
  t.same(await answer.json(), { text: 'You asked: Where?' })
  const traceId = answer.headers.get('x-trace-id')!
  t.equal(traceId, caller.traceId)
  t.equal((await post('/questions', { question: '' })).status, 500)
  t.equal((await post(`/feedback/${traceId}`, { helpful: true, comment: 'thanks' })).status, 202)
  child.kill('SIGTERM')
  t.same(await once(child, 'close'), [0, null], said.err)
  caller.end()
  t.match(await client.flush(), { kept: 0, lostCount: 0 })

  const { trace, spans, scores } = await client.traces.get(traceId)
  t.match(trace, { name: 'caller', userId: 'u-1', metadata: { statusCode: 200 } })
  t.same(treeOf(spans), ['chain caller', '  chain question', '    agent answer'])
  t.match(
    spans.find(({ name }) => name === 'question'),
    { status: 'ok', input: { question: 'Where?' } }
  )
  t.match(scores, [{ name: 'helpful', value: true, comment: 'thanks' }])
  const [failed] = (await client.traces.list({ name: 'question', status: 'error' })).traces
  const detail = await client.traces.get(failed!.id)
  t.match(detail.trace, { metadata: { statusCode: 500 } })
  t.match(detail.spans, [{ name: 'answer', events: [{ attributes: { 'exception.message': 'there is no question' } }] }])
})

t.test('a worker that is told to stop', async t => {
  const { child, said } = start(t, 'worker.ts')
  const caller = client.start('producer')
  const { traceparent } = caller
  for (const job of [
    { id: '1', text: 'One. Two.', traceparent },
    { id: '2', text: '' },
    { id: '3', text: 'Three. ' }
  ]) {
    child.stdin.write(`${JSON.stringify(job)}\n`)
  }
  child.stdin.write('no job\n')
  await until(() => said.err.split('\n').length > 2)
  child.kill('SIGTERM')
  t.same(await once(child, 'close'), [0, null], said.err)
  t.match(said.err, 'failed: {"id":"2","text":""}: Error: there is nothing to summarise\n')
  t.match(said.err, 'failed: no job: SyntaxError')
  caller.end()
  await client.flush()
  const { spans } = await client.traces.get(caller.traceId)
  t.same(treeOf(spans), ['chain producer', '  chain job', '    chain summarise'])
  const { traces } = await client.traces.list({ name: 'job', tag: 'worker' })
  t.same(traces.map(({ status }) => status).sort(), ['error', 'ok'])
})

t.test('functions that are frozen after their response', async t => {
  // The process is killed after the response, so unsent data is lost.
  const program = `
    import { handler, GET } from '${write(t, 'serverless.ts')}'
    const waiting = []
    const answers = [
      await handler({ id: '7' }),
      await (await GET(new Request('http://f/?id=8'), { waitUntil: promise => void waiting.push(promise) })).text()
    ]
    await Promise.all(waiting)
    process.stdout.write(JSON.stringify(answers), () => process.kill(process.pid, 'SIGKILL'))`
  const [command, ...args] = [...NODE, '--input-type=module', '-e', program]
  const { stdout } = await promisify(execFile)(command, args, { env: environment }).catch(error => error)
  t.same(JSON.parse(stdout), [{ statusCode: 200, body: 'order 7 is on its way' }, 'order 8 is on its way'])
  for (const [tag, input] of [
    ['lambda', { id: '7' }],
    ['waitUntil', { id: '8' }]
  ] as const) {
    const { traces } = await client.traces.list({ name: 'order', tag })
    t.equal(traces.length, 1, tag)
    t.match((await client.traces.get(traces[0]!.id)).trace, { input, status: 'ok' })
  }
})

const environment = { ...process.env, SPOOR_URL: url, SPOOR_API_KEY: key, SPOOR_SPOOL: t.testdirName }

/** Writes an example without its types to a folder in this package, because the example imports the package by name. */
function write(t: Test, name: string): string {
  const program = name.replace(/ts$/, 'js')
  const folder = t.testdir({ [program]: transformSync(sourceOf(name), { loader: 'ts' }).code })
  return join(folder, program)
}

interface Started {
  readonly child: ChildProcessWithoutNullStreams
  /** The output so far. */
  readonly said: { out: string; err: string }
}

function start(t: Test, name: string, env: NodeJS.ProcessEnv = {}): Started {
  const child = spawnNode([write(t, name)], { env: { ...environment, ...env } })
  t.teardown(() => void child.kill('SIGKILL'))
  const said = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', text => {
    said.out += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    said.err += text
  })
  return { child, said }
}
