/**
 * Tests the client together with OpenTelemetry's SDK: the client's steps and scores join the trace that the SDK sends.
 */
import t from 'tap'
import { Spoor } from '../../clients/typescript/index.ts'
import { inside, sending } from './sending.ts'
import { treeOf } from './tree.ts'

t.test('steps and scores inside an OpenTelemetry span are part of its trace', async t => {
  const sent = await sending(t)
  // The exporter is configured in code, so no environment variable reveals its settings.
  const spoor = new Spoor({ url: sent.url, key: sent.key, spool: false, openTelemetry: true })
  t.teardown(() => spoor.close())
  await inside(sent.tracer, 'request', async () => {
    await spoor.trace('answer', async trace => {
      trace.span('search', { kind: 'retriever', input: 'q' }, () => ['found'])
      trace.score('helpful', true)
      return 'done'
    })
  })
  // OpenTelemetry's SDK may export to another service.
  const apart = new Spoor({ url: sent.url, key: sent.key, spool: false })
  t.teardown(() => apart.close())
  await inside(sent.tracer, 'elsewhere', async () => apart.trace('apart', () => 1))
  t.match(await apart.flush(), { sent: 1 })
  t.match((await apart.traces.list({ name: 'apart' })).traces, [{ name: 'apart', status: 'ok' }])
  t.match(await spoor.flush({ timeoutMs: 20 }), { lostCount: 0 })
  const { trace, spans } = await sent.read('request')
  t.same(treeOf(spans), ['custom request', '  chain answer', '    retriever search'])
  t.match(
    spans.find(({ name }: { name: string }) => name === 'search'),
    { input: 'q', output: ['found'] }
  )
  t.equal(trace.name, 'request')
  t.match(await spoor.flush({ timeoutMs: 60_000 }), { kept: 0, lostCount: 0 })
  const { traces } = await spoor.traces.list({ name: 'request' })
  t.match(traces[0]!.scores, { helpful: { value: true } })
})
