import t from 'tap'
import type { FailurePage, GroupOfFailures } from '../../../../../plugins/dashboard/app/contract.ts'
import {
  countFailures,
  firstSeen,
  isNew,
  readFailureSort,
  sortedFailures,
  tracesQueryOf,
  withEarlier,
  withFailures,
  wordsOf
} from '../../../../../plugins/dashboard/app/errors/failure-list.ts'

const AT = '2026-11-21T12:00:00.000Z'
const group = (over: Partial<GroupOfFailures> = {}): GroupOfFailures => ({
  ...{ name: 'pay', kind: 'tool', type: null, pattern: 'No stock', count: 1, passedOn: 0, traces: 1, steps: [1] },
  ...{ before: 0, firstAt: AT, lastAt: AT, example: { traceId: '1'.repeat(32), spanId: null, message: 'No stock' } },
  ...over
})
const page = (groups: readonly GroupOfFailures[], over: Partial<FailurePage> = {}): FailurePage => ({
  ...{
    from: AT,
    to: AT,
    step: 'hour',
    offset: 0,
    starts: [AT],
    groups,
    earlier: [],
    others: 0,
    otherFailures: 0,
    reached: null,
    nextCursor: null
  },
  ...over
})

t.test('pages add up by group, with the most failures first', t => {
  const earlier = '2026-11-21T10:00:00.000Z'
  const first = page([group({ count: 2, steps: [0, 2] }), group({ name: 'ask', count: 5 })], { nextCursor: 'x' })
  const second = page([group({ count: 4, steps: [4], before: 3, traces: 2, firstAt: earlier }), group({ kind: 'llm' })])
  const list = withFailures(withFailures(undefined, first), second)
  t.same(
    list.groups.map(({ name, kind, count, steps, before, traces }) => [name, kind, count, steps, before, traces]),
    [
      ['pay', 'tool', 6, [4, 2], 3, 3],
      ['ask', 'tool', 5, [1], 0, 1],
      ['pay', 'llm', 1, [1], 0, 1]
    ]
  )
  t.match(list.groups[0], { firstAt: earlier, lastAt: AT })
  t.equal(list.nextCursor, null)
  t.end()
})

t.test('a list never counts fewer failures than groups', t => {
  const alone = group({ count: 3, passedOn: 1 })
  const repeated = group({ name: 'agent', count: 7, passedOn: 7 })
  const full = page([alone, repeated], { others: 2, otherFailures: 5 })
  t.same(countFailures(full), { failures: 7, groups: 3, passedOn: 1 })
  const list = withFailures(full, page([repeated, group({ name: 'ask' })], { others: 1, otherFailures: 1 }))
  t.same(countFailures(list), { failures: 9, groups: 5, passedOn: 1 })
  t.same(countFailures(page([])), { failures: 0, groups: 0, passedOn: 0 })
  t.end()
})

t.test('failures passed on by a step come last', t => {
  const list = withFailures(page([]), page([group({ count: 9, passedOn: 9 }), group({ name: 'ask' })]))
  t.same(
    list.groups.map(({ name }) => name),
    ['ask', 'pay']
  )
  t.end()
})

const early = (over: object = {}) => ({
  ...{ name: 'pay', kind: 'tool', type: null, pattern: 'No stock', before: 0, firstAt: '2026-10-01T00:00:00.000Z' },
  ...over
})

t.test('a group that a later page has only before the period is not lost', t => {
  const firstAt = '2026-11-19T00:00:00.000Z'
  const further = page([], { earlier: [early({ before: 2, firstAt }), early({ name: 'other', before: 7 })] })
  const list = withFailures(page([group()], { nextCursor: 'x' }), further)
  t.match(list.groups, [{ name: 'pay', count: 1, before: 2, firstAt }])
  t.equal(list.groups.length, 1)
  t.end()
})

t.test('a failure is new if no earlier trace has it', t => {
  const none = withEarlier(undefined, page([]))
  const known = withEarlier(undefined, page([], { earlier: [early()] }))
  t.ok(isNew(group(), page([]), none))
  t.notOk(isNew(group(), page([]), known))
  t.ok(isNew(group({ pattern: 'Other' }), page([]), known))
  t.notOk(isNew(group(), page([]), undefined), 'earlier traces are not examined yet')
  t.notOk(isNew(group({ before: 1 }), page([]), none))
  t.notOk(isNew(group(), page([], { nextCursor: 'x' }), none))
  t.end()
})

t.test('the first failure is the first among all examined traces', t => {
  const later = page([], { earlier: [early({ firstAt: '2026-10-09T00:00:00.000Z' })], reached: AT, nextCursor: 'x' })
  const history = withEarlier(withEarlier(undefined, later), page([], { earlier: [early()] }))
  t.equal(firstSeen(group(), withEarlier(undefined, later)), '2026-10-09T00:00:00.000Z')
  t.equal(firstSeen(group(), history), '2026-10-01T00:00:00.000Z')
  t.equal(firstSeen(group(), undefined), AT)
  t.match(history, { reached: null, nextCursor: null })
  t.end()
})

t.test('groups are sorted by failures, first seen or last seen', t => {
  const list = page([
    group({ name: 'a', lastAt: '2026-11-21T10:00:00.000Z' }),
    group({ name: 'b', lastAt: '2026-11-21T12:00:00.000Z' }),
    group({ name: 'c', lastAt: '2026-11-21T11:00:00.000Z', firstAt: '2026-11-21T11:00:00.000Z' })
  ])
  const history = withEarlier(undefined, page([], { earlier: [early({ name: 'b' })] }))
  const namesBy = (sort: string | undefined) =>
    sortedFailures(list, readFailureSort(sort), history).map(({ name }) => name)
  t.same(namesBy(undefined), ['a', 'b', 'c'])
  t.same(namesBy('nonsense'), ['a', 'b', 'c'])
  t.same(namesBy('last'), ['b', 'c', 'a'])
  t.same(namesBy('first'), ['a', 'c', 'b'])
  t.end()
})

t.test('the words come from the type and the message, without placeholders', t => {
  t.equal(wordsOf({ type: null, pattern: null }), '')
  t.equal(wordsOf({ type: 'KeyError', pattern: null }), 'KeyError')
  t.equal(
    wordsOf({ type: 'TimeoutError', pattern: 'upstream <url> timed out after <number> ms -- HTTP 504 "<name>" …' }),
    'TimeoutError upstream timed out after HTTP 504'
  )
  t.equal(
    wordsOf({ type: null, pattern: 'prompt is too long: <number> token, the maximum is <number>' }),
    'prompt is too long: the maximum',
    'the message says tokens'
  )
  t.ok(wordsOf({ type: null, pattern: 'word '.repeat(50) + 'long'.repeat(60) }).length <= 190)
  t.end()
})

t.test('a group links to its traces', t => {
  const time = { from: AT, to: AT }
  t.same(Object.fromEntries(new URLSearchParams(tracesQueryOf(group(), time, 'prod'))), {
    ...{ step: 'pay', kind: 'tool', stepStatus: 'error', error: 'No stock', env: 'prod' },
    ...time
  })
  t.same(Object.fromEntries(new URLSearchParams(tracesQueryOf(group({ kind: 'trace' }), time, undefined))), {
    ...{ name: 'pay', status: 'error' },
    ...time
  })
  t.end()
})
