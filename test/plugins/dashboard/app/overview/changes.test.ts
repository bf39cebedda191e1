import t from 'tap'
import type { SplitAnswer, SplitRow } from '../../../../../plugins/dashboard/app/contract.ts'
import { groupChanges, metricOf, sortSplits } from '../../../../../plugins/dashboard/app/overview/changes.ts'
import {
  groupFilters,
  readSplitField,
  readTraceGroup,
  withParameters,
  writeTraceGroup
} from '../../../../../plugins/dashboard/app/state/trace-group.ts'

type Total = SplitRow['total']
const total = (over: Partial<Total>): Total => ({
  ...{ traces: 10, errors: 0, inputTokens: 0, outputTokens: 0, costUsd: 0, priced: 0 },
  ...{ p50: null, p90: null, p95: null, p99: null },
  ...over
})
const group = (key: string | null, now: Partial<Total>, before: Partial<Total> | null): SplitRow => ({
  ...{ key, kind: null, isOther: false },
  total: total(now),
  before: before && total(before)
})
const split = (by: string, groups: readonly SplitRow[]): Pick<SplitAnswer, 'by' | 'groups'> => ({ by, groups })

t.test('the group that grows more than the total comes first', t => {
  const cost = split('model', [
    group('large', { costUsd: 20 }, { costUsd: 10 }),
    group('new', { costUsd: 15 }, { costUsd: 0 }),
    group('gone', { costUsd: 0 }, { costUsd: 1 })
  ])
  t.same(
    groupChanges(cost, 'cost').map(({ group, now, before }) => [group.key, now, before]),
    [
      ['new', 15, 0],
      ['large', 20, 10],
      ['gone', 0, 1]
    ]
  )
  t.end()
})

t.test('the most informative split comes first, and a split with one group explains nothing', t => {
  const splits = [
    split('environment', [group('prod', { costUsd: 30 }, { costUsd: 10 })]),
    split('name', [group('a', { costUsd: 16 }, { costUsd: 5 }), group('b', { costUsd: 14 }, { costUsd: 5 })]),
    split('model', [group('opus', { costUsd: 25 }, { costUsd: 5 }), group('mini', { costUsd: 5 }, { costUsd: 5 })])
  ]
  t.same(
    sortSplits(splits, 'cost').map(({ by }) => by),
    ['model', 'name', 'environment']
  )
  t.end()
})

t.test('durations do not add up, so slow groups are weighted by their traces', t => {
  const slow = split('name', [
    group('rare', { p95: 900, traces: 1 }, { p95: 100 }),
    group('frequent', { p95: 200, traces: 99 }, { p95: 100 }),
    group('unknown', { traces: 0 }, { traces: 0 })
  ])
  t.same(
    groupChanges(slow, 'latency').map(({ group }) => group.key),
    ['frequent', 'rare']
  )
  t.end()
})

t.test('error rates change with errors, and unknown previous numbers are omitted', t => {
  const errors = split('user', [
    group('ada', { errors: 5 }, { errors: 0 }),
    group('bob', { errors: 1 }, { errors: 1 }),
    group('eve', { errors: 9 }, null)
  ])
  t.match(groupChanges(errors, 'errors'), [
    { group: { key: 'ada' }, now: 0.5, before: 0 },
    { group: { key: 'bob' }, now: 0.1, before: 0.1 }
  ])
  t.equal(metricOf(total({ traces: 0 }), 'errors'), null)
  t.equal(metricOf(total({ inputTokens: 2, outputTokens: 3 }), 'tokens'), 5)
  t.same(groupChanges(split('user', []), 'cost'), [])
  t.end()
})

t.test('groups are named in addresses', t => {
  for (const text of ['model:gpt-5', 'tag:prompt:v12', 'user:a:b', 'tag:a:b:c']) {
    t.equal(writeTraceGroup(readTraceGroup(text)!), text)
  }
  t.same(readTraceGroup('tag:prompt:v12'), { by: 'tag:prompt', key: 'v12' })
  for (const text of ['', 'model', 'model:', 'step:x', 'tag:prompt:']) t.equal(readTraceGroup(text), undefined, text)
  t.same(groupFilters('tag:prompt', 'v12'), { tag: 'prompt:v12' })
  t.same(groupFilters('step', 'chat', 'llm'), { step: 'chat', kind: 'llm' })
  t.same(groupFilters('environment', 'prod'), { env: 'prod' })
  t.equal(readSplitField('?by=tag:prompt'), 'tag:prompt')
  t.equal(readSplitField('?by=colour'), undefined)
  t.equal(withParameters('?a=1', { b: '2' }), '?a=1&b=2')
  t.equal(withParameters('', {}), '')
  t.end()
})
