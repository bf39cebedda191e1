import { isDeepStrictEqual } from 'node:util'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import t from 'tap'
import { checker } from '../../../lib/schema/check.ts'
import { IngestBody } from '../../../lib/schema/input.ts'
import { prepare } from '../../../lib/trace/prepare.ts'
import { AGENT_RUNS, agentRun } from './agent-runs.ts'

/** Figures of 22 published runs of SWE-agent (MIT), as bodies of `POST /api/v1/traces`. */
const REAL = {
  spans: [8, 21, 42],
  bytes: [40_198, 246_652, 619_984],
  gzip: 0.09,
  brotli: 0.041,
  fastest: 0.063
} as const

const runs = Array.from({ length: AGENT_RUNS }, (_, i) => agentRun(i))
const bodies = runs.map(run => Buffer.from(JSON.stringify(run)))

t.test('generated runs are valid, and identical each time', async t => {
  const schema = checker(IngestBody)
  for (const [i, run] of runs.entries()) {
    t.ok(schema.check(run), schema.check(run) ? '' : schema.explain(run))
    t.equal(prepare('record', bodies[i]!).spans.length, run.trace.spans!.length)
  }
  t.strictSame(agentRun(5), runs[5])
})

t.test('generated runs have the size of real runs, and compress as well', async t => {
  const isNear = (value: number, real: number, most: number, name: string) =>
    t.ok(Math.abs(value / real - 1) <= most, `${name}: ${value}, and ${real} of real runs`)
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const counts = runs.map(({ trace }) => trace.spans!.length)
  const [fewest, usual, most] = REAL.spans
  t.same([Math.min(...counts), Math.max(...counts)], [fewest, most])
  isNear(mean(counts), usual, 0.15, 'spans')
  const sizes = bodies.map(({ length }) => length)
  const [least, size, largest] = REAL.bytes
  isNear(Math.min(...sizes), least, 0.3, 'bytes of the smallest')
  isNear(mean(sizes), size, 0.1, 'bytes')
  isNear(Math.max(...sizes), largest, 0.3, 'bytes of the largest')
  const share = (compress: (body: Buffer) => Buffer) =>
    bodies.reduce((sum, body) => sum + compress(body).length, 0) / sizes.reduce((sum, bytes) => sum + bytes, 0)
  const brotli = (quality: number, window: number) => (body: Buffer) => {
    const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_LGWIN]: window }
    return brotliCompressSync(body, { params })
  }
  isNear(
    share(body => gzipSync(body, { level: 6 })),
    REAL.gzip,
    0.1,
    'gzip'
  )
  isNear(share(brotli(1, 22)), REAL.brotli, 0.15, 'Brotli, quality 1')
  isNear(share(brotli(0, 18)), REAL.fastest, 0.15, 'Brotli, quality 0')
})

t.test('each model call sends the whole conversation so far', async t => {
  for (const { trace } of runs) {
    const calls = trace.spans!.filter(({ kind }) => kind === 'llm')
    const inputs = calls.map(({ input }) => (input as { messages: object[] }).messages)
    for (const [i, messages] of inputs.slice(1).entries()) {
      t.ok(isDeepStrictEqual(messages.slice(0, inputs[i]!.length), inputs[i]))
      t.equal(messages.length, inputs[i]!.length + 2)
    }
  }
})
