/** Tests the length of latency bars. */
import t from 'tap'
import { latencyShare } from '../../../../../plugins/dashboard/app/ui/latency-share.ts'

t.test('latency bars are logarithmic, and the longest is full', async t => {
  const shares = [0, 10, 100, 1000, 10_000].map(ms => latencyShare(ms, 10_000))
  t.same(
    shares.map(share => Number(share.toFixed(3))),
    [0, 0, 0.333, 0.667, 1]
  )
  t.equal(latencyShare(5, 5), 0)
})
