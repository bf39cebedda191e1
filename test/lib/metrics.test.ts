import fc from 'fast-check'
import t from 'tap'
import { keepCounts, Metrics, type Snapshot } from '../../lib/metrics.ts'

/** Returns the value of a series in the exposition; undefined if the series is absent. */
async function read(metrics: Metrics, series: string): Promise<number | undefined> {
  const { text } = await metrics.render()
  const line = text.split('\n').find(line => line.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.split(' ')[1])
}

const REQUESTS = 'spoor_http_requests_total{route="getKey",status="200"}'

function processWith(requests: number, waiting: number, size: number | undefined): Metrics {
  const metrics = new Metrics()
  for (let i = 0; i < requests; i++) metrics.countRequest('getKey', 200, 10)
  metrics.watch('waiting', 'What waits.', () => waiting)
  metrics.watch('size', 'How large.', () => size, 'max')
  metrics.watch('ready', 'Whether ready.', () => waiting, 'min')
  return metrics
}

t.test('an unknown value is absent, and appears once it is known', async t => {
  const metrics = new Metrics()
  let size: number | undefined
  metrics.watch('size', 'How large.', () => size)
  t.equal(await read(metrics, 'size'), undefined)
  size = 5
  t.equal(await read(metrics, 'size'), 5)
  size = undefined
  t.equal(await read(metrics, 'size'), undefined)
})

t.test('several processes respond as one: counts are added, and gauges are combined as their help says', async t => {
  const [one, other] = [processWith(2, 3, undefined), processWith(5, 4, 7)]
  one.showAll(() => Promise.all([one.snapshot(), other.snapshot()]))
  t.equal(await read(one, REQUESTS), 7)
  t.equal(await read(one, 'spoor_http_request_duration_seconds_count{route="getKey"}'), 7)
  t.equal(await read(one, 'waiting'), 7)
  t.equal(await read(one, 'size'), 7)
  t.equal(await read(one, 'ready'), 3)
  const { text } = await one.render()
  t.match(text, '# HELP waiting What waits. With several processes, the sum.')
  t.match(text, '# HELP size How large. With several processes, the maximum.')
})

t.test('counts of processes that have ended are never lost, and nothing else of them is kept', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 4 }), async counts => {
      let ended: Snapshot = []
      for (const count of counts) ended = await keepCounts(await processWith(count, 9, 9).snapshot(), ended)
      const living = processWith(1, 2, 3)
      living.showAll(async () => [await living.snapshot(), ended])
      t.equal(
        await read(living, REQUESTS),
        counts.reduce((sum, count) => sum + count, 1)
      )
      t.equal(await read(living, 'waiting'), 2)
      t.equal(await read(living, 'size'), 3)
    }),
    { numRuns: 10 }
  )
})
