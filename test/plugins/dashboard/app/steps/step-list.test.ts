/** Tests the query of the list of steps, and how the parts of a list are combined. */
import t from 'tap'
import type { ListedStep, StepPage } from '../../../../../plugins/dashboard/app/contract.ts'
import { ignoredParameters, writeQuery } from '../../../../../plugins/dashboard/app/state/list-query.ts'
import {
  isDone,
  readStepQuery,
  readTypedDuration,
  STEPS_SHOWN,
  stepParameters,
  typedDuration,
  withSteps
} from '../../../../../plugins/dashboard/app/steps/step-list.ts'

const PRESENT = { now: Date.parse('2026-11-25T12:00:00Z'), offset: 0 }
const part = (durations: readonly number[], nextCursor: string | null = null): StepPage => ({
  spans: durations.map(
    (durationMs, i) => ({ durationMs, id: `${durationMs} ${i} ${nextCursor}` }) as unknown as ListedStep
  ),
  nextCursor,
  reached: null,
  hint: null,
  pageSize: STEPS_SHOWN
})
const durationsOf = ({ spans }: StepPage) => spans.map(({ durationMs }) => durationMs)

t.test("an address contains the step filters, and the request uses the API's names", async t => {
  const search = '?kind=llm&step=search&stepStatus=error&model=m&env=production&minDuration=2000&sort=slowest&range=24h'
  const query = readStepQuery(`${search}&status=ok&q=words&tag=a:b&after=x`)
  t.equal(new URLSearchParams(writeQuery(query)).size, 8)
  t.same(readStepQuery(writeQuery(query)), query)
  const others = ignoredParameters(`${search}&status=ok&name=x&kind=none`, readStepQuery)
  t.same(others, ['status', 'name'], 'the page says which parameters it ignores')
  const asked = Object.fromEntries(stepParameters(query, PRESENT, undefined))
  t.match(asked, {
    kind: 'llm',
    name: 'search',
    status: 'error',
    model: 'm',
    environment: 'production',
    minDurationMs: '2000',
    sort: 'slowest'
  })
  t.equal(asked.from, '2026-11-24T13:00:00.000Z')
  t.notOk('after' in asked)
  t.equal(stepParameters(query, PRESENT, 'cursor').get('after'), 'cursor')
})

t.test('a page of the newest steps has a cursor in its address, and the slowest steps have one page', async t => {
  t.match(readStepQuery('?after=x'), { after: 'x', sort: 'newest' })
  t.equal(readStepQuery('?after=x&sort=slowest').after, undefined)
  t.equal(readStepQuery('?sort=costliest').sort, 'newest')
})

t.test('older parts are appended, or contribute their slowest steps', async t => {
  const first = part([5, 3], 'next')
  t.same(durationsOf(withSteps(first, part([9]), 'newest')), [5, 3, 9])
  t.same(durationsOf(withSteps(first, part([9, 4]), 'slowest')), [9, 5, 4, 3])
  const many = Array.from({ length: STEPS_SHOWN }, (_, i) => i)
  const slowest = withSteps(part(many, 'next'), part([1000]), 'slowest')
  t.equal(slowest.spans.length, STEPS_SHOWN)
  t.equal(slowest.spans[0]!.durationMs, 1000)
})

t.test('newest steps end with a full page, and slowest steps once all traces are examined', async t => {
  const full = Array.from({ length: STEPS_SHOWN }, () => 1)
  t.ok(isDone(part(full, 'next'), 'newest'))
  t.notOk(isDone(part(full, 'next'), 'slowest'))
  t.notOk(isDone(part([1], 'next'), 'newest'))
  t.ok(isDone(part([1]), 'slowest'))
})

t.test('durations are read as they are typed', async t => {
  for (const [typed, ms] of [
    ['2s', '2000'],
    ['2', '2000'],
    ['500 ms', '500'],
    ['>= 1.5s', '1500'],
    ['1min', '60000']
  ] as const)
    t.equal(readTypedDuration(typed), ms, typed)
  for (const typed of ['', 'fast', '2 parsecs', '1s status:ok']) t.equal(readTypedDuration(typed), undefined, typed)
  for (const ms of ['2000', '500', '60000', '1234']) t.equal(readTypedDuration(typedDuration(ms)), ms, ms)
})
