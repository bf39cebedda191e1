import { join } from 'node:path'
import t from 'tap'
import { AcceptedLog } from '../load/accepted.ts'
import { buildScript } from '../load/requests.ts'
import { Undo } from '../machine/undo.ts'
import { readOptions } from '../options.ts'
import { describeSkipped, type PeerFigures, sumUp } from './peers.ts'
import { renderCommand, runCommand, startProgram } from './programs.ts'
import { readBack } from './read-back.ts'
import { renderPeers } from './report.ts'

const traces = (count: number) => Array.from({ length: count }, (_, i) => ({ id: String(i), spans: 8 }))

t.test('peers are measured only on request', async t => {
  t.notOk(readOptions([]).cases.includes('peers'))
  t.strictSame(readOptions(['--case', 'peers']).cases, ['peers'])
})

t.test('the latest traces and a sample of all traces are remembered', async t => {
  for (const count of [0, 3, 4, 7, 100]) {
    const log = new AcceptedLog(4)
    for (const trace of traces(count)) log.add(() => trace)
    const { accepted, last, sample } = log.traces
    t.equal(accepted, count)
    t.strictSame(last, traces(count).slice(-4))
    t.equal(new Set(sample.map(({ id }) => id)).size, Math.min(count, 4))
  }
})

t.test("a whole run is one export to the given endpoint, with that server's headers only", async t => {
  const endpoint = { path: '/v1/traces', headers: { 'x-mlflow-experiment-id': '0' } }
  const { requests, spans } = buildScript('agent-otlp-whole', 0, { port: 1, key: 'the key', endpoint })
  t.equal(requests.length, 1)
  const head = requests[0]!.bytes.toString('latin1').split('\r\n\r\n')[0]!
  t.match(head, /^POST \/v1\/traces HTTP\/1\.1\r\n/)
  t.match(head, 'x-mlflow-experiment-id: 0')
  t.notMatch(head, 'Authorization')
  t.equal(requests[0]!.traceBytes.length, spans)
})

t.test('a trace is readable once all of its spans are', async t => {
  const patience = { timeoutMs: 60_000, pauseMs: 1 }
  let looks = 0
  const late = await readBack(traces(4), async id => (id === '3' && looks++ < 2 ? 5 : 8), patience)
  t.equal(late.atOnce, 0.75)
  t.equal(late.finally, 1)
  t.ok(Number.isFinite(late.seconds))
  const lost = await readBack(traces(4), async id => (id === '0' ? 0 : 8), { timeoutMs: 5, pauseMs: 1 })
  t.strictSame(lost, { atOnce: 0.75, finally: 0.75, seconds: Number.POSITIVE_INFINITY })
})

t.test('counts are summed over the turns, and the figures are medians', async t => {
  const turn = (tracesPerSecond: number, refused: number) => ({
    figures: { tracesPerSecond } as PeerFigures,
    refused,
    acknowledged: 10
  })
  t.strictSame(sumUp([turn(1, 0), turn(9, 2), turn(2, 1)]), {
    figures: { tracesPerSecond: 2 },
    refused: 3,
    acknowledged: 30
  })
})

t.test('a missing or failing program gives the reason', async t => {
  await t.rejects(runCommand({ program: 'no-such-program', args: [] }), {
    name: 'Unavailable',
    message: 'no-such-program was not found'
  })
  const args = ['-e', 'console.error("first\\nthe reason"); process.exit(3)']
  await t.rejects(runCommand({ program: process.execPath, args }), { name: 'Unavailable', message: /\(the reason\)$/ })
})

t.test('a server that is missing or exits at once gives the reason', async t => {
  const place = { logFile: join(t.testdir(), 'log'), healthUrl: 'http://127.0.0.1:1/' }
  const undo = new Undo()
  t.teardown(() => undo.run())
  await t.rejects(startProgram({ program: '/no/such/program', args: [] }, place, undo), {
    name: 'Unavailable',
    message: /^\/no\/such\/program could not be started \(.*ENOENT\)$/
  })
  const args = ['-e', 'console.error("the reason"); process.exit(3)']
  await t.rejects(startProgram({ program: process.execPath, args }, place, undo), {
    name: 'Unavailable',
    message: /did not start \(the reason\)$/
  })
})

t.test('a command is printed as it would be typed', async t => {
  const command = { program: 'mlflow', args: ['--opts', "it's on"], env: { A: 'true' }, cwd: '/tmp/x' }
  t.equal(renderCommand(command), `cd /tmp/x && A=true mlflow --opts 'it'\\''s on'`)
})

t.test('the report has a table for each kind, the commands, and a sentence for each skipped peer', async t => {
  const figures: PeerFigures = {
    ...{ tracesPerSecond: 3_000, bytesPerSecond: 54e6, p50: 20, p99: 50, serverCpu: 300, postgresCpu: Number.NaN },
    ...{ diskBytes: 6_000, readableAtOnce: 0.5, readable: 1, secondsToReadable: 0.2, idleCores: 0.01 }
  }
  const runs = { figures, refused: 2, acknowledged: 12_000 }
  const never = { ...runs, figures: { ...figures, readable: 0.9, secondsToReadable: Number.POSITIVE_INFINITY } }
  const text = renderPeers({
    peers: [
      {
        ...{ name: 'MLflow', version: '3.17.2', settings: ['2 workers.'], commands: ['mlflow server'] },
        kinds: [{ kind: 'otlp-protobuf', connections: 64, own: runs, peer: never, ratio: 21.5 }]
      }
    ],
    skipped: [describeSkipped('Jaeger', 'go was not found', 'build it')]
  })
  t.match(text, '| spoor | 3,000 | 54 | 20 | 50 | 12,000 | 2 | 50 % | 100 % | 0.2 | 300 | – | 6,000 | 0.01 |')
  t.match(text, /\| MLflow \|.*\| 90 % \| never \|/)
  t.match(text, '| spoor to MLflow | **21.5** |')
  t.match(text, '```sh\nmlflow server\n```')
  t.match(text, 'Jaeger was skipped, because go was not found; to measure it, build it.')
})
