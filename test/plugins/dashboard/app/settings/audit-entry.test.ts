import t from 'tap'
import { AUDIT_GROUPS } from '../../../../../lib/store/account-audit.ts'
import { ACCOUNT_ACTIONS, PERSONAL_ACTIONS } from '../../../../../lib/store/audit-actions.ts'
import {
  GROUP_CHOICES,
  textOfAction,
  wordsOfDetail
} from '../../../../../plugins/dashboard/app/settings/audit-entry.ts'

t.test('the page offers the groups that the server knows', t => {
  t.same(
    GROUP_CHOICES.map(([name]) => name)
      .filter(name => name !== '')
      .toSorted(),
    [...AUDIT_GROUPS].toSorted()
  )
  t.end()
})

t.test('actions have texts, and unknown ones are shown by name', t => {
  for (const action of [...PERSONAL_ACTIONS, ...Object.values(ACCOUNT_ACTIONS).flat()]) {
    t.match(textOfAction({ action, detail: {} }), /^[A-Z][\w' -]+$/, action)
  }
  t.equal(textOfAction({ action: 'key.use', detail: { before: null } }), 'Used a key for the first time')
  t.equal(textOfAction({ action: 'key.use', detail: { before: '2026-01-01T00:00:00.000Z' } }), 'Used a key again')
  for (const action of ['made.up', 'toString', '__proto__']) t.equal(textOfAction({ action, detail: {} }), action)
  t.end()
})

t.test('facts name the user by address, and omit nulls', t => {
  const detail = { user: 7, email: 'ada@example.com', role: 'owner', before: null, means: 'link', traces: 3 }
  t.same(wordsOfDetail({ action: 'x', detail }), ['user ada@example.com', 'role owner', 'by link', 'traces 3'])
  t.same(wordsOfDetail({ action: 'x', detail: { user: 7 } }), ['user 7'])
  const created = { keyId: 'k1', scopes: ['traces:read', 'traces:write'], limits: { most: 3 } }
  t.same(wordsOfDetail({ action: 'x', detail: created }), [
    'k1',
    'scopes traces:read traces:write',
    'limits {"most":3}'
  ])
  t.end()
})
