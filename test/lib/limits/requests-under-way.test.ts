import t from 'tap'
import { RequestsUnderWay } from '../../../lib/limits/requests-under-way.ts'

t.test('rejects the excess of one party, and nothing of another', async t => {
  const under = new RequestsUnderWay(2)
  under.enter(1)
  under.enter(1)
  t.throws(() => under.enter(1), { code: 'too_many_requests', status: 429, message: /at most 2/ })
  under.enter(2)
  t.equal(under.count, 3, 'a rejected request is not in flight')
  under.leave(1)
  under.enter(1)
  for (const party of [1, 1, 2]) under.leave(party)
  t.equal(under.count, 0)
})

t.test('64 connections with one key stay far below the limit', async t => {
  const under = new RequestsUnderWay()
  for (let i = 0; i < 64; i++) for (const party of [1, 2, 3]) under.enter(party)
  t.equal(under.count, 192)
})
