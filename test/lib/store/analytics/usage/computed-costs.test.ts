import t from 'tap'
import { foldDeltas } from '../../../../../lib/store/analytics/rollups/fold.ts'
import { readMadeUsage } from '../../../../../lib/store/analytics/usage/made-sums.ts'
import { readSummedUsage, type SummedAsked } from '../../../../../lib/store/analytics/usage/summed.ts'
import { traceId } from '../../../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../../../fixtures/bodies/otlp.ts'
import { makeSomeUsage } from '../../../../fixtures/database/usage-sums.ts'
import { testService } from '../../../../fixtures/service/service.ts'

const { call, makeProject, makeKey, database } = await testService(t)
const HOUR = 3_600_000
const DAY = Date.UTC(2026, 10, 21)
const period = { from: DAY, to: DAY + 24 * HOUR, step: 'hour' as const, offset: 0 }

interface Call {
  readonly name: string
  readonly model: string
  readonly hour?: number
  /** The cost that the sender states. Otherwise spoor computes it. */
  readonly cost?: number
}

const chat = ({ name, model, hour = 3, cost }: Call) => {
  const at = DAY + hour * HOUR
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': model,
    'gen_ai.usage.input_tokens': 1000,
    'gen_ai.usage.output_tokens': 100,
    ...(cost !== undefined && { 'gen_ai.usage.cost': cost })
  }
  const step = otlpSpan({ traceId: traceId(), name, attributes })
  return Object.assign(step, { startTimeUnixNano: `${at}000000`, endTimeUnixNano: `${at + 5}000000` })
}

/** Records the calls, each as a trace. Returns a function that reads their sums without reading a trace. */
async function recorded(project: string, calls: readonly Call[]) {
  const projectId = Number(await makeProject(project))
  const { key } = await makeKey({ project })
  const answer = await call('POST', '/api/v1/otlp/v1/traces', { key, body: exportOf(...calls.map(chat)) })
  t.equal(answer.status, 200, answer.text)
  const make = () =>
    database.pool.run(async sql => {
      while ((await foldDeltas(sql, projectId, 1000)) > 0) {}
      while (await makeSomeUsage(sql, projectId, DAY + 72 * HOUR, 0)) {}
    })
  const read = (asked: Partial<SummedAsked> = {}) =>
    database.pool.run(sql =>
      readSummedUsage(sql, projectId, { period, interval: 'none', field: undefined, limit: 5, ...asked }, 0)
    )
  return { projectId, make, read }
}

/** Costs of a call of gpt-4o and of gpt-4o-mini, by the bundled prices. */
const LARGE = 0.0035
const SMALL = 0.00021

t.test('computed costs are read from stored sums, split and filtered', async t => {
  const { projectId, make, read } = await recorded('computed', [
    { name: 'answer', model: 'gpt-4o' },
    { name: 'answer', model: 'gpt-4o-mini', hour: 5 },
    { name: 'search', model: 'gpt-4o-mini', hour: 5 },
    { name: 'search', model: 'gpt-4o', hour: 5, cost: 2 }
  ])
  t.match(await read(), { total: { traces: 4, computedCostUsd: null } }, 'not known before the sums are stored')
  await make()
  const computed = LARGE + 2 * SMALL
  t.match(await read(), { total: { traces: 4, costUsd: computed + 2, computedCostUsd: computed } })
  const shown = (sums: Awaited<ReturnType<typeof read>>) =>
    sums.rows.map(({ start, key, computedCostUsd }) => [start?.slice(11, 13) ?? key, computedCostUsd])
  t.same(shown(await read({ field: 'model', sort: 'cost' })), [
    ['gpt-4o', LARGE],
    ['gpt-4o-mini', 2 * SMALL]
  ])
  t.same(shown(await read({ field: 'name', sort: 'cost', limit: 1 })), [
    ['search', SMALL],
    [null, LARGE + SMALL]
  ])
  t.same(shown(await read({ field: 'environment' })), [['unassigned', computed]])
  t.same(shown(await read({ interval: 'hour' })), [
    ['03', LARGE],
    ['05', 2 * SMALL]
  ])
  const filters = { name: 'answer', model: 'gpt-4o-mini' }
  t.match(await read({ filters }), { total: { traces: 1, costUsd: SMALL, computedCostUsd: SMALL } })
  const byUser = await database.pool.run(sql =>
    readMadeUsage(sql, projectId, { period, interval: 'none', field: 'user', limit: 5 }, 0)
  )
  t.match(byUser, { total: { computedCostUsd: computed }, rows: [{ computedCostUsd: computed }] })
})

t.test('with more groups than are stored, only the total is known', async t => {
  const calls = Array.from({ length: 501 }, (_, n) => ({ name: `name ${n}`, model: 'gpt-4o' }))
  const { make, read } = await recorded('many-names', calls)
  await make()
  const { total, rows } = await read({ field: 'model' })
  t.match(total, { traces: 501, costUsd: 501 * LARGE, computedCostUsd: 501 * LARGE })
  t.match(rows, [{ key: 'gpt-4o', traces: 501, computedCostUsd: null }])
  t.match(await read({ filters: { model: 'gpt-4o' } }), { total: { traces: 501, computedCostUsd: null } })
})
