import t from 'tap'
import { planUpgrade, requireRoom } from '../../../../lib/moving/upgrade/plan.ts'

const GB = 1e9
const found = { from: 16, to: 18, bytes: 10 * GB, free: 100 * GB }

t.test('an older folder is upgraded, a current one is not, and an impossible upgrade is rejected', t => {
  t.match(planUpgrade(found), { from: 16, to: 18, bytes: 10 * GB, free: 100 * GB })
  t.equal(planUpgrade({ ...found, from: 18 }), undefined)
  t.throws(() => planUpgrade({ ...found, from: 19 }), {
    message: /needs PostgreSQL 19, but this version of spoor has 18/
  })
  t.throws(() => planUpgrade({ ...found, from: undefined }), { message: /no database here yet/ })
  t.end()
})

t.test('a copy must fit next to the original', t => {
  const plan = planUpgrade(found)!
  t.ok(plan.needed > found.bytes)
  requireRoom({ ...plan, free: plan.needed })
  t.throws(() => requireRoom({ ...plan, free: plan.needed - 1 }), {
    message: /has 12\.1 GB free, but .* need 12\.1 GB/
  })
  t.end()
})
