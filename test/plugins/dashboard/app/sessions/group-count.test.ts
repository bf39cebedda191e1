import t from 'tap'
import { GROUPS_SHOWN, groupCount } from '../../../../../plugins/dashboard/app/sessions/group-count.ts'

t.test('a list says that it is cut, or how many groups its page has', t => {
  t.equal(groupCount(1, 'session', undefined), '1 session on this page')
  t.equal(groupCount(50, 'user', undefined), '50 users on this page')
  t.equal(groupCount(GROUPS_SHOWN - 1, 'user', 'cost'), '99 users')
  t.equal(groupCount(GROUPS_SHOWN, 'session', 'tokens'), 'The first 100 sessions by tokens')
  t.end()
})
