/** Compares `GET /api/v1/usage` with sums that this file computes from the traces as the API returns them. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { updateProject } from '../../lib/admin/projects.ts'
import { pruneAll } from '../../lib/admin/upkeep/pruning.ts'
import { periodBetween } from '../../lib/rollups/period.ts'
import { alignedTime, readSplit } from '../../lib/rollups/usage.ts'
import { checker } from '../../lib/schema/check.ts'
import { FIELD_VALUES, type UsageSort } from '../../lib/schema/field-values.ts'
import { UsageReply, type UsageRow, type UsageSums } from '../../lib/schema/history/usage.ts'
import { foldDeltas } from '../../lib/store/analytics/rollups/fold.ts'
import { makeFortnight } from '../../lib/store/analytics/rollups/fortnights.ts'
import { readExactPeriods } from '../../lib/store/analytics/usage/exact-periods.ts'
import { readMadeUsage } from '../../lib/store/analytics/usage/made-sums.ts'
import { readSummedUsage, summedField } from '../../lib/store/analytics/usage/summed.ts'
import { endBody, ingestBody, span, spansBody, startBody, traceId } from '../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../fixtures/bodies/otlp.ts'
import { indexTraces, seedTraces } from '../fixtures/database/seed.ts'
import { relabelAll } from '../fixtures/database/upkeep.ts'
import { foldLikeOldServer, makeSomeUsage } from '../fixtures/database/usage-sums.ts'
import { mcpClient } from '../fixtures/service/mcp.ts'
import { testService } from '../fixtures/service/service.ts'
import { longTest, runs } from '../torture/orders.ts'

const service = await testService(t)
const { call, makeKey, makeProject, database } = service
const HOUR = 3_600_000
const DAY = 24 * HOUR
const BEGIN = Date.UTC(2026, 10, 20)
const iso = (ms: number) => new Date(ms).toISOString()

const BYS = ['model', 'name', 'environment', 'user', 'step', 'tag:prompt', 'tag:nobody']
const INTERVALS = ['none', 'hour', 'day'] as const
type Interval = (typeof INTERVALS)[number]

interface Item {
  readonly id: string
  readonly at: number
  readonly keys: readonly { readonly key: string | null; readonly kind: string | null }[]
  readonly isError: boolean
  readonly input: number
  readonly output: number
  readonly cost: number | null
  readonly isComputed: boolean
  readonly ms: number
}

// biome-ignore lint/suspicious/noExplicitAny: the traces as the API returns them
type Detail = any

function itemsOf(details: readonly Detail[], by: string | undefined, computed: ReadonlySet<string>): Item[] {
  return details.flatMap(({ trace, spans }): Item[] => {
    const of = (each: Detail, keys: Item['keys'], isComputed: boolean): Item => ({
      id: trace.id,
      at: Date.parse(trace.startedAt),
      keys,
      isError: each.status === 'error',
      input: each.usage?.inputTokens ?? 0,
      output: each.usage?.outputTokens ?? 0,
      cost: each.costUsd,
      isComputed,
      ms: each.durationMs
    })
    const isComputed = spans.some(({ id }: Detail) => computed.has(id)) && trace.costUsd !== null
    if (by === 'step') {
      return spans.map((each: Detail) => of(each, [{ key: each.name, kind: each.kind }], computed.has(each.id)))
    }
    const keyed = (key: string | null) => [of(trace, [{ key, kind: null }], isComputed)]
    if (by === undefined) return keyed(null)
    if (by.startsWith('tag:')) {
      const tags = trace.tags.filter((tag: string) => tag.startsWith(`${by.slice(4)}:`))
      const keys = tags.map((tag: string) => ({ key: tag.slice(by.length - 3), kind: null }))
      return keys.length === 0 ? keyed(null) : [of(trace, keys, isComputed)]
    }
    if (by === 'environment') return keyed(trace.environment ?? 'unassigned')
    return keyed(trace[by === 'user' ? 'userId' : by])
  })
}

function sumOf(items: readonly Item[], isOfSteps: boolean): UsageSums & { steps: number | null } {
  const sorted = items.map(({ ms }) => ms).sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? null
  const dollars = (of: readonly Item[]) => Math.round(of.reduce((sum, { cost }) => sum + (cost ?? 0), 0) * 1e9) / 1e9
  return {
    steps: isOfSteps ? items.length : null,
    traces: isOfSteps ? new Set(items.map(({ id }) => id)).size : items.length,
    errors: items.filter(({ isError }) => isError).length,
    inputTokens: items.reduce((sum, { input }) => sum + input, 0),
    outputTokens: items.reduce((sum, { output }) => sum + output, 0),
    costUsd: dollars(items),
    computedCostUsd: dollars(items.filter(({ isComputed }) => isComputed)),
    withoutCost: items.filter(({ cost }) => cost === null).length,
    p50Ms: at(0.5),
    p95Ms: at(0.95)
  }
}

interface Asked {
  readonly from: number
  readonly to: number
  readonly by: string | undefined
  readonly interval: Interval
  readonly limit: number
  readonly sort: UsageSort
  readonly stepKind: string | undefined
}

type Filters = {
  readonly [name in 'environment' | 'name' | 'model' | 'tag' | 'userId' | 'sessionId']?: string | undefined
}

const compare = (a: string | null, b: string | null) =>
  a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -1 : 1

function expectedRows(
  items: readonly Item[],
  { by, interval, limit, sort, stepKind }: Asked
): { rows: UsageRow[]; others: number } {
  if (by === undefined && interval === 'none') return { rows: [], others: 0 }
  const pairs = items
    .flatMap(item => item.keys.map(each => ({ item, ...each })))
    .filter(({ kind }) => stepKind === undefined || by !== 'step' || kind === stepKind)
  const groups = new Map<string, typeof pairs>()
  for (const pair of pairs) {
    const name = JSON.stringify([pair.key, pair.kind])
    groups.set(name, [...(groups.get(name) ?? []), pair])
  }
  const tracesOf = (each: typeof pairs) => new Set(each.map(({ item }) => item.id)).size
  const worth = {
    traces: tracesOf,
    errors: (each: typeof pairs) => each.filter(({ item }) => item.isError).length,
    cost: (each: typeof pairs) => Math.round(each.reduce((sum, { item }) => sum + (item.cost ?? 0), 0) * 1e9),
    tokens: (each: typeof pairs) => each.reduce((sum, { item }) => sum + item.input + item.output, 0),
    duration: (each: typeof pairs) =>
      sumOf(
        each.map(({ item }) => item),
        false
      ).p95Ms!
  }[sort]
  const ranked = [...groups.values()].sort(
    (a, b) =>
      worth(b) - worth(a) ||
      tracesOf(b) - tracesOf(a) ||
      b.length - a.length ||
      compare(a[0]!.key, b[0]!.key) ||
      compare(a[0]!.kind, b[0]!.kind)
  )
  const startOf = ({ at }: Item) =>
    interval === 'none'
      ? null
      : iso(Math.floor(at / (interval === 'hour' ? HOUR : DAY)) * (interval === 'hour' ? HOUR : DAY))
  const rows: UsageRow[] = []
  for (const start of [...new Set(pairs.map(({ item }) => startOf(item)))].sort()) {
    const inTime = (each: typeof pairs) => each.filter(({ item }) => startOf(item) === start)
    const shown = ranked
      .slice(0, limit)
      .map(inTime)
      .filter(each => each.length > 0)
    const rest = ranked.slice(limit).flatMap(inTime)
    const row = (each: typeof pairs, isOther: boolean): UsageRow => ({
      start,
      key: isOther ? null : each[0]!.key,
      kind: isOther ? null : each[0]!.kind,
      isOther,
      ...sumOf(
        each.map(({ item }) => item),
        by === 'step'
      )
    })
    rows.push(...shown.map(each => row(each, false)), ...(rest.length > 0 ? [row(rest, true)] : []))
  }
  return { rows, others: Math.max(0, ranked.length - limit) }
}

/** Stored sums have percentiles that are close to the real ones, so groups that are ranked by these are all listed. */
const storedOf = (asked: Asked): Asked => (asked.sort === 'duration' ? { ...asked, limit: 100 } : asked)

/** Sorts rows that have equal counts in the same way in both results. */
const inOrder = (rows: readonly UsageRow[]) =>
  [...rows].sort(
    (a, b) =>
      compare(a.start, b.start) ||
      Number(a.isOther) - Number(b.isOther) ||
      compare(a.key, b.key) ||
      compare(a.kind, b.kind)
  )

type Op =
  | { op: 'record'; at: number; ms: number; cost: number | undefined; tokens: number | undefined; pick: number }
  | { op: 'stream'; at: number; pick: number; ends: boolean }
  | { op: 'export'; at: number; pick: number; states: boolean }
  | { op: 'grow' | 'delete' | 'score' | 'patch'; pick: number }
  | { op: 'fold' | 'prune' | 'relabel'; pick: number }

const pick = fc.nat(1000)
/** Times in few hours, so that several traces share an hour. */
const at = fc
  .tuple(fc.constantFrom(4, 5, 30, 100, 130, 700), fc.nat(59))
  .map(([hours, minutes]) => BEGIN - hours * HOUR + minutes * 60_000)
const ops: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('record' as const),
      at,
      ms: fc.nat(100_000),
      cost: fc.option(
        fc.integer({ min: 0, max: 1e6 }).map(n => n / 1e6),
        { nil: undefined }
      ),
      tokens: fc.option(fc.nat(5000), { nil: undefined }),
      pick
    })
  },
  fc.record({ op: fc.constant('stream' as const), at, pick, ends: fc.boolean() }),
  fc.record({ op: fc.constant('export' as const), at, pick, states: fc.boolean() }),
  fc.record({ op: fc.constantFrom('grow' as const, 'delete' as const, 'score' as const, 'patch' as const), pick }),
  fc.record({ op: fc.constantFrom('prune' as const, 'relabel' as const), pick }),
  { weight: 3, arbitrary: fc.record({ op: fc.constant('fold' as const), pick }) }
)

const FILTERS = {
  environment: fc.constantFrom('prod', 'unassigned'),
  name: fc.constantFrom('answer', 'search', 'nothing'),
  model: fc.constantFrom('m1', 'm2'),
  tag: fc.constantFrom('prompt:v1', 'prompt:v2'),
  userId: fc.constantFrom('ada', 'bob'),
  sessionId: fc.constant('chat')
}

const isFiltered = ({ environment, name, model, tag, userId, sessionId }: Filters, trace: Detail): boolean =>
  (tag === undefined || trace.tags.includes(tag)) &&
  [
    [environment, trace.environment ?? 'unassigned'],
    [name, trace.name],
    [model, trace.model],
    [userId, trace.userId],
    [sessionId, trace.sessionId]
  ].every(([wanted, value]) => wanted === undefined || wanted === value)

const of = <T>(values: readonly T[], n: number): T => values[n % values.length] as T
const KINDS = ['llm', 'tool', 'agent', 'custom'] as const
let projects = 0

t.test('sums equal those of the traces, after any history', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(ops, { minLength: 15, maxLength: 35 }),
      fc.record({
        days: fc.integer({ min: 1, max: 45 }),
        interval: fc.constantFrom(...INTERVALS),
        limit: fc.integer({ min: 1, max: 6 }),
        live: fc.constantFrom(0, 1, 3, 1000),
        sort: fc.constantFrom(...FIELD_VALUES.usageSort),
        stepKind: fc.constantFrom(undefined, 'llm', 'tool'),
        filters: fc.record(FILTERS, { requiredKeys: [] })
      }),
      async (history, { days, interval, limit, live, sort, stepKind, filters }) => {
        const project = `p${++projects}`
        const projectId = Number(await makeProject(project))
        await database.pool.run(
          sql => sql`update projects set usage_tags = array['prompt', 'nobody'] where id = ${projectId}`
        )
        const keys = [(await makeKey({ project, environment: 'prod' })).key, (await makeKey({ project })).key]
        const key = keys[0]!
        const ids: string[] = []
        const exported = new Map<string, number>()
        const computed = new Set<string>()
        const send = async (method: string, path: string, body?: object, with_ = key) => {
          const answer = await call(method, path, { key: with_, ...(body && { body }) })
          assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
        }
        const facts = (n: number) => ({
          name: of(['answer', 'search', 'summary'], n),
          model: of(['m1', 'm2', undefined], n),
          userId: of(['ada', undefined, 'bob'], n >> 1),
          tags: of([[], ['prompt:v1'], ['prompt:v2', 'prompt:v1:b', 'x'], ['promp:v1', 'prompt']], n),
          status: of(['ok', 'error', 'unset'], n >> 2),
          ...(n % 5 > 1 && { sessionId: 'chat' })
        })
        const steps = (n: number, start: number) =>
          Array.from({ length: n % 4 }, (_, i) =>
            span({
              name: of(['plan', 'call', 'search_orders'], n + i),
              kind: of(KINDS, n + i),
              status: of(['ok', 'error'], n + i),
              startedAt: iso(start),
              endedAt: iso(start + ((n * 37 + i) % 5000)),
              ...(i % 2 === 0 && { usage: { inputTokens: n, outputTokens: i }, costUsd: n / 1000 })
            })
          )
        const exportTo = (id: string, n: number, start: number, states: boolean) => {
          // A later span without usage leaves the trace's own sums as they are.
          const isCall = !exported.has(id) || n % 3 !== 0
          const step = otlpSpan({
            traceId: id,
            name: 'chat',
            ...(exported.has(id) && { parentSpanId: 'ab'.repeat(8) }),
            attributes: isCall
              ? {
                  'gen_ai.operation.name': 'chat',
                  'gen_ai.request.model': 'gpt-4o',
                  'gen_ai.usage.input_tokens': n,
                  'gen_ai.usage.output_tokens': 5,
                  ...(states && { 'gen_ai.usage.cost': 0.5 })
                }
              : {}
          })
          Object.assign(step, { startTimeUnixNano: `${start}000000`, endTimeUnixNano: `${start + n}000000` })
          exported.set(id, start)
          if (isCall && !states) computed.add(step.spanId)
          return send('POST', '/api/v1/otlp/v1/traces', exportOf(step))
        }
        for (const [i, each] of history.entries()) {
          if (i === Math.floor(history.length / 2)) {
            await database.pool.run(async sql => {
              while ((await foldDeltas(sql, projectId, 1000)) > 0) {}
              while (await makeSomeUsage(sql, projectId, Date.now(), 0)) {}
            })
          }
          const id = of(ids, each.pick)
          if (each.op === 'record') {
            const { ms, cost, tokens } = each
            const body = ingestBody({
              ...facts(each.pick),
              startedAt: iso(each.at),
              endedAt: iso(each.at + ms),
              ...(cost !== undefined && { costUsd: cost }),
              ...(tokens !== undefined && { usage: { inputTokens: tokens } }),
              spans: steps(each.pick, each.at)
            })
            ids.push(body.trace.id)
            await send('POST', '/api/v1/traces', body, of(keys, each.pick))
          } else if (each.op === 'stream') {
            const { status: _, ...rest } = facts(each.pick)
            const body = startBody({ ...rest, startedAt: iso(each.at) })
            ids.push(body.trace.id)
            await send('POST', '/api/v1/traces', body)
            const added = steps(each.pick, each.at)
            if (added.length > 0) await send('POST', `/api/v1/traces/${body.trace.id}/spans`, spansBody(...added))
            if (each.ends) {
              const end = endBody({ endedAt: iso(each.at + each.pick), tags: ['prompt:v2'], costUsd: 0.25 })
              await send('POST', `/api/v1/traces/${body.trace.id}/end`, end)
            }
          } else if (each.op === 'export') {
            const id = traceId()
            ids.push(id)
            await exportTo(id, each.pick, each.at, each.states)
          } else if (each.op === 'fold') {
            await database.pool.run(async sql => {
              const fold = each.pick % 3 === 0 ? foldLikeOldServer : foldDeltas
              await fold(sql, projectId, 1 + (each.pick % 20))
              if (each.pick % 2 === 0) while (await makeFortnight(sql, projectId)) {}
              for (let i = 0; i < each.pick % 8; i++) await makeSomeUsage(sql, projectId, Date.now(), 0)
            })
          } else if (each.op === 'prune') {
            const conditions = of(
              [{ status: 'error' }, { name: 'answer' }, { before: iso(BEGIN - 200 * HOUR) }],
              each.pick
            )
            await database.pool.run(sql => pruneAll(sql, projectId, conditions))
            for (const one of [...ids]) {
              if ((await call('GET', `/api/v1/traces/${one}`, { key })).status === 200) continue
              ids.splice(ids.indexOf(one), 1)
              exported.delete(one)
            }
          } else if (each.op === 'relabel') {
            const request = { project, environment: of(['prod', 'unassigned', 'other'], each.pick) }
            const to = of([undefined, iso(BEGIN - 20 * HOUR)], each.pick >> 2)
            await database.pool.run(sql => relabelAll(sql, { ...request, to }))
          } else if (id !== undefined) {
            const path = `/api/v1/traces/${id}`
            if (each.op === 'score') await send('POST', `${path}/scores`, { name: 'q', dataType: 'numeric', value: 1 })
            if (each.op === 'patch') await send('PATCH', path, { metadata: { n: each.pick } })
            const start = exported.get(id)
            if (each.op === 'grow' && start !== undefined) await exportTo(id, each.pick, start, each.pick % 2 === 0)
            if (each.op === 'delete') {
              await send('DELETE', path)
              ids.splice(ids.indexOf(id), 1)
              exported.delete(id)
            }
          }
        }
        /** Checks the sums of the traces that match the filters, read one by one and from rollups. */
        const checkFiltered = async (all: readonly Detail[], asked: Asked) => {
          const { by } = asked
          const found = all.filter(({ trace }) => isFiltered(filters, trace))
          const { rows, others } = expectedRows(itemsOf(found, by, computed), asked)
          const { steps: _, ...total } = sumOf(itemsOf(found, undefined, computed), false)
          const given = { from: iso(asked.from), to: iso(asked.to), interval, limit: String(limit), sort }
          const query = new URLSearchParams({
            ...{ ...given, ...(filters as object), ...(by !== undefined && { by }) },
            ...(by === 'step' && stepKind !== undefined && { stepKind })
          })
          const { status, body, text } = await call('GET', `/api/v1/usage?${query}`, { key })
          assert.equal(status, 200, text)
          assert.deepEqual({ total: body.total, others: body.others }, { total, others })
          assert.deepEqual(inOrder(body.rows), inOrder(rows), `${query}`)
          const { environment, name, model, ...others3 } = filters
          const split = by === undefined ? undefined : readSplit(by)
          const field = split && summedField(split)
          if (Object.keys(others3).length > 0 || (split !== undefined && field === undefined)) return
          const period = alignedTime(asked)
          const wide = details.filter(
            ({ trace }) =>
              isFiltered(filters, trace) &&
              Date.parse(trace.startedAt) >= period.from &&
              Date.parse(trace.startedAt) < period.to
          )
          const ofRollups = { environment, name, model }
          const stored = storedOf(asked)
          const summed = await database.pool.run(sql =>
            readSummedUsage(sql, projectId, { period, interval, field, limit: stored.limit, sort, filters: ofRollups })
          )
          const near = expectedRows(itemsOf(wide, by, computed), stored)
          const counts = (rows: readonly UsageRow[]) =>
            inOrder(rows).map(({ start, key, traces, errors, costUsd }) => ({ start, key, traces, errors, costUsd }))
          assert.deepEqual(counts(summed.rows), counts(near.rows))
          assert.equal(summed.total.traces, wide.length)
        }
        const details: Detail[] = []
        for (const id of ids) {
          const { body } = await call('GET', `/api/v1/traces/${id}`, { key })
          if (body.trace.endedAt !== null) details.push(body)
        }
        const [to, from] = [BEGIN - 12_345_678, BEGIN - 12_345_678 - days * DAY]
        const inTime = (a: number, b: number) =>
          details.filter(({ trace }) => Date.parse(trace.startedAt) >= a && Date.parse(trace.startedAt) < b)
        for (const by of [undefined, ...BYS]) {
          const asked: Asked = { from, to, by, interval, limit, sort, stepKind }
          await checkFiltered(inTime(from, to), asked)
          const found = inTime(from, to)
          const { rows, others } = expectedRows(itemsOf(found, by, computed), asked)
          const { steps: _, ...total } = sumOf(itemsOf(found, undefined, computed), false)
          const given = {
            from: iso(from),
            to: iso(to),
            interval,
            limit: String(limit),
            sort,
            ...(by !== undefined && { by }),
            ...(by === 'step' && stepKind !== undefined && { stepKind })
          }
          const query = new URLSearchParams(given)
          const { status, body, text } = await call('GET', `/api/v1/usage?${query}`, { key })
          assert.equal(status, 200, text)
          assert.ok(checker(UsageReply).check(body))
          const { rows: shown, hint, ...rest } = body
          assert.deepEqual(rest, {
            ...{ from: iso(from), to: iso(to), by: by ?? null, interval, approximate: false, countedFrom: null },
            ...{ total, others }
          })
          assert.deepEqual(inOrder(shown), inOrder(rows), by)
          assert.equal(
            hint !== null,
            total.traces === 0 || (by?.startsWith('tag') === true && rows.every(r => r.key === null && !r.isOther))
          )

          // The same sums from the rollups, of whole hours or days.
          const split = by === undefined ? undefined : readSplit(by)
          const field = split && summedField(split)
          const period = alignedTime({ from, to, interval })
          const stored = storedOf(asked)
          const summed = await database.pool.run(async sql =>
            split !== undefined && field === undefined
              ? readMadeUsage(
                  sql,
                  projectId,
                  {
                    ...{ period, interval, field: by as string, limit: stored.limit, sort },
                    ...(by === 'step' && { stepKind })
                  },
                  live
                )
              : {
                  ...period,
                  ...(await readSummedUsage(
                    sql,
                    projectId,
                    { period, interval, field, limit: stored.limit, sort },
                    live
                  ))
                }
          )
          if (live > 100) assert.deepEqual([summed.from, summed.to], [period.from, period.to])
          const wide = inTime(summed.from, summed.to)
          const near = expectedRows(itemsOf(wide, by, computed), stored)
          assert.equal(summed.others, near.others)
          const pairs = [
            [summed.total, sumOf(itemsOf(wide, undefined, computed), false)],
            ...inOrder(near.rows).map((row, i) => [inOrder(summed.rows)[i], row])
          ] as [UsageRow, UsageRow][]
          assert.equal(summed.rows.length, near.rows.length)
          for (const [a, b] of pairs) {
            const { p50Ms, p95Ms, computedCostUsd, ...exact } = a
            const { p50Ms: p50, p95Ms: p95, computedCostUsd: computed, steps, ...wanted } = b
            // Computed costs are not known if too many traces would be read one by one.
            const isMade = a !== summed.total && split !== undefined && field === undefined
            const isKnown = isMade || live > 100 || computedCostUsd !== null
            assert.equal(computedCostUsd, isKnown ? computed : null)
            // Traces that have several of the other steps count once for each of these steps.
            const isRest = a.isOther && by === 'step'
            assert.deepEqual(
              { ...exact, steps: null, ...(isRest && { traces: 0 }) },
              { ...wanted, steps: null, ...(isRest && { traces: 0 }) }
            )
            for (const [x, y] of [
              [p50Ms, p50],
              [p95Ms, p95]
            ] as const) {
              if (y === null) assert.equal(x, null)
              else assert.ok(Math.abs(x! - y) <= 0.022 * y, `${x} is close to ${y}`)
            }
          }
        }
      }
    ),
    runs(8)
  )
})

t.test('without times, the last seven days are summed, as the response says', async t => {
  const at = Date.now() - 3 * DAY
  const body = ingestBody({ startedAt: iso(at), endedAt: iso(at + 3000), model: 'm1', tags: ['prompt:v7', 'tenant:a'] })
  t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  const before = Date.now()
  const { body: usage } = await call('GET', '/api/v1/usage?by=model')
  t.match(usage, { by: 'model', interval: 'none', total: { traces: 1, p50Ms: 3000, withoutCost: 1 }, hint: null })
  t.match(usage.rows, [{ start: null, key: 'm1', traces: 1 }])
  t.equal(Date.parse(usage.to) - Date.parse(usage.from), 7 * DAY)
  t.ok(Date.parse(usage.to) >= before && Date.parse(usage.to) <= Date.now())
  for (const [interval, length] of [
    ['hour', HOUR],
    ['day', DAY]
  ] as const) {
    const { from, to } = (await call('GET', `/api/v1/usage?interval=${interval}`)).body
    t.equal(Date.parse(from) % length, 0, `it starts with a whole ${interval}`)
    t.equal(Math.ceil(Date.parse(to) / length) * length - Date.parse(from), 7 * DAY)
  }
  const to = iso(at + 1)
  t.match((await call('GET', `/api/v1/usage?to=${to}`)).body, { from: iso(at + 1 - 7 * DAY), to, total: { traces: 1 } })
  t.match((await call('GET', `/api/v1/usage?to=${iso(at)}`)).body, { total: { traces: 0 } }, 'to is exclusive')
})

t.test("scores are counted and averaged by group, using each trace's newest", async t => {
  await makeProject('scored')
  const { key } = await makeKey({ project: 'scored' })
  const record = async (hour: number, tags: string[], ...scores: [name: string, value: unknown][]) => {
    const body = ingestBody({ startedAt: iso(BEGIN + hour * HOUR), endedAt: iso(BEGIN + hour * HOUR + 5), tags })
    await call('POST', '/api/v1/traces', { key, body })
    for (const [name, value] of scores) {
      const dataType = { number: 'numeric', boolean: 'boolean', string: 'categorical' }[typeof value as 'number']
      const score = { name, dataType, value }
      t.equal((await call('POST', `/api/v1/traces/${body.trace.id}/scores`, { key, body: score })).status, 201)
    }
  }
  await record(1, ['prompt:v1'], ['quality', 0], ['quality', 1], ['good', true])
  await record(1, ['prompt:v1'], ['quality', 0.5], ['good', false], ['topic', 'billing'])
  await record(2, ['prompt:v2', 'prompt:v1'], ['quality', 0.2])
  await record(2, [])
  const ask = async (query: string) => {
    const period = `from=${iso(BEGIN)}&to=${iso(BEGIN + DAY)}`
    const { status, body, text } = await call('GET', `/api/v1/usage?${period}&${query}`, { key })
    t.equal(status, 200, text)
    t.ok(checker(UsageReply).check(body))
    return body
  }
  const { total, rows } = await ask('by=tag:prompt&scores=true')
  const mean = (0.2 + 0.5 + 1) / 3
  t.match(total.scores, [
    { name: 'good', count: 2, mean: 0.5 },
    { name: 'quality', count: 3, mean },
    { name: 'topic', count: 1, mean: null }
  ])
  const shown = rows.map(({ key, scores }: UsageRow) => [key, scores!.map(({ name, count }) => `${name} ${count}`)])
  t.same(shown, [
    ['v1', ['good 2', 'quality 3', 'topic 1']],
    ['v2', ['quality 1']],
    [null, []]
  ])
  const few = await ask('by=tag:prompt&scores=true&limit=1&interval=hour&tag=prompt:v2')
  t.match(few.rows, [
    { key: 'v1', isOther: false, scores: [{ name: 'quality', count: 1, mean: 0.2 }] },
    { key: null, isOther: true, scores: [{ name: 'quality', count: 1, mean: 0.2 }] }
  ])
  t.notOk('scores' in (await ask('by=tag:prompt')).total)
})

t.test('an empty response names existing values', async t => {
  const { use } = await mcpClient(t, service)
  t.match(
    (await use('get_usage', { by: 'tag:promt' })).value.hint,
    /^No recent tag has the key "promt"\. The nearest: "prompt"\.$/
  )
  t.match((await use('get_usage', { by: 'tag:prompt' })).value, { hint: null, rows: [{ key: 'v7' }] })
  const old = { from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' }
  t.match((await use('get_usage', old)).value.hint, /^No trace started in this period; the newest started at 20/)
  t.match((await use('get_usage', { ...old, by: 'tag:prompt' })).value.hint, /^No trace started in this period/)
  await makeProject('empty')
  const { key } = await makeKey({ project: 'empty' })
  t.equal((await call('GET', '/api/v1/usage', { key })).body.hint, 'The project has no traces.')
})

t.test("an invalid query is rejected with the parameter's name", async t => {
  const wrong: Readonly<Record<string, RegExp>> = {
    'by=session': /^by: must be model, name, environment, user, step or tag:KEY/,
    'by=tag:': /^by: must be /,
    'by=tag:a:b': /^by: must be /,
    'by=': /^by: must not be empty$/,
    'by=tag:%00': /^by: /,
    'interval=week': /^interval: /,
    'interval=hour&by=model&from=2026-01-01T00:00:00Z&to=2026-06-01T00:00:00Z':
      /^interval: would return up to \d+ rows/,
    'limit=0': /^limit: /,
    'limit=201': /^limit: /,
    'limit=x': /^limit: /,
    'from=yesterday': /^from: /,
    'to=2026-01-01': /^to: /,
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z': /^to: must be later than `from`$/,
    'from=9999-01-01T00:00:00Z': /^to: is required if `from` is in the future$/,
    'from=2001-01-01T00:00:00Z&to=2026-01-01T00:00:00Z': /^from: must be at most 3660 days before `to`$/,
    'status=error': /^status: unknown parameter; the parameters are from, to, environment, /,
    'model=': /^model: /,
    'tag=%00': /^tag: /,
    'userId=': /^userId: /,
    'sessionId=%00': /^sessionId: /,
    'name=': /^name: /,
    'environment=a%20b': /^environment: /,
    'sort=speed': /^sort: /,
    'stepKind=step&by=step': /^stepKind: /,
    'scores=true&by=step': /^scores: cannot be combined with `by=step`$/,
    'scores=1': /^scores: /,
    'stepKind=tool': /^stepKind: requires `by=step`$/,
    'stepKind=tool&by=model': /^stepKind: requires `by=step`$/
  }
  for (const [query, message] of Object.entries(wrong)) {
    const answer = await call('GET', `/api/v1/usage?${query}`)
    t.match(answer, { status: 400, body: { error: { code: 'invalid_request', message } } }, query)
  }
  for (const query of [
    'from=0001-01-01T00:00:00Z&to=0001-01-01T00:00:01Z',
    'to=0001-01-01T00:00:01Z',
    'from=9999-12-31T23:59:59Z&to=9999-12-31T23:59:59.999Z&interval=day'
  ]) {
    t.equal((await call('GET', `/api/v1/usage?${query}`)).status, 200, query)
  }
})

t.test('each of 15,000 traces may have a user of its own', async t => {
  const id = Number(await makeProject('crowd'))
  const { key } = await makeKey({ project: 'crowd' })
  const begin = Date.UTC(2026, 9, 1)
  await database.pool.run(async sql => {
    await seedTraces(sql, id, [{ startedAt: iso(begin), durationMs: 3000, model: 'm1', costUsd: 1 }])
    await sql`
      insert into traces
      select (json_populate_record(t, json_build_object('seq', t.seq + n, 'id', md5('crowd' || n)::uuid, 'started_at',
        t.started_at + n * interval '10 seconds', 'user_id', 'user ' || n)))
        .*
      from traces t, generate_series(1, 15000) n where project_id = ${id}`
  })
  for (const interval of ['none', 'day']) {
    const query = `from=${iso(begin)}&to=${iso(begin + 3 * DAY)}&by=user&limit=2&interval=${interval}`
    const { status, body } = await call('GET', `/api/v1/usage?${query}`, { key })
    t.equal(status, 200, 'rows are not compared with each group')
    t.match(body, { total: { traces: 15_001 }, others: 14_999 })
    const counted = body.rows.reduce((sum: number, { traces }: UsageRow) => sum + traces, 0)
    t.equal(counted, 15_001, 'traces without a user, and other users, are counted too')
  }
  // The dashboard's overview compares two periods.
  const period = periodBetween(begin, begin + 3 * DAY)
  const asked = { period, before: begin - DAY, filters: {}, split: { field: 'user' as const }, limit: 2, charted: 3 }
  const rows = await database.pool.run(sql => readExactPeriods(sql, id, asked))
  const whole = rows!.filter(({ at, isBefore }) => at === null && !isBefore)
  t.same([whole.length, whole.reduce((sum, { traces }) => sum + traces, 0)], [3, 15_001])
})

longTest('beyond 20,000 traces, sums that the server has computed are read', async t => {
  const id = Number(await makeProject('large'))
  const { key } = await makeKey({ project: 'large' })
  const begin = Date.UTC(2026, 9, 1)
  await database.pool.run(async sql => {
    const traces = [
      { startedAt: iso(begin), durationMs: 3000, userId: 'ada', tags: ['prompt:v1'], model: 'm1', costUsd: 1 }
    ]
    await seedTraces(sql, id, traces)
    await sql`
      insert into traces
      select (json_populate_record(t, json_build_object('seq', t.seq + n, 'id', md5(n::text)::uuid, 'started_at',
        t.started_at + n * interval '10 seconds', 'duration_ms', t.duration_ms + n, 'user_id', 'user ' || n % 3)))
        .*
      from traces t, generate_series(1, 25000) n where project_id = ${id}`
    await indexTraces(sql, id)
    await sql`update project_totals set traces = 25001 where project_id = ${id}`
  })
  const ask = async (query: string) => {
    const answer = await call('GET', `/api/v1/usage?from=${iso(begin)}&to=${iso(begin + 3 * DAY)}&${query}`, { key })
    return answer.status === 200 ? answer.body : answer.body.error.message
  }
  t.match(await ask('by=tag:prompt'), /more than 20,000 traces; .* `spoor project update SLUG --usage-tags prompt`$/)
  // No sums are computed yet, so the newest traces are read one by one.
  const first = await ask('by=user')
  t.match(first, { approximate: true, to: iso(begin + 3 * DAY), countedFrom: first.from })
  t.ok(first.total.traces > 19_900 && first.total.traces <= 20_000)

  await database.pool.run(async sql => {
    await updateProject(sql, 1e9, 'large', { usageTags: ['prompt'] })
    while ((await foldDeltas(sql, id, 100_000)) > 0) {}
    while (await makeSomeUsage(sql, id)) {}
  })
  const total = { traces: 25_001, costUsd: 25_001, withoutCost: 0 }
  for (const interval of ['none', 'day']) {
    const users = await ask(`by=user&limit=2&interval=${interval}`)
    t.match(users, { approximate: true, countedFrom: null, total, others: 2 })
    const sum = users.rows.reduce((sum: number, { traces }: UsageRow) => sum + traces, 0)
    t.equal(sum, 25_001)
  }
  const { rows, p50 = rows[0].p50Ms } = await ask('by=tag:prompt')
  t.match(rows, [{ key: 'v1', traces: 25_001, costUsd: 25_001, computedCostUsd: 0 }])
  t.ok(Math.abs(p50 - 15_500) < 0.022 * 15_500, `${p50} is close to the median`)
  t.same((await ask('by=step')).rows, [], 'the traces have no steps')

  t.match(await ask('model=m1&scores=true'), /^scores: cannot be included: the period has more than 20,000 traces/)
  t.match(await ask('model=m1&interval=day'), { approximate: true, total: { traces: 25_001 }, rows: { length: 3 } })
  t.match(await ask('model=m1&by=environment'), { approximate: true, rows: [{ key: 'unassigned', traces: 25_001 }] })
  for (const query of ['tag=prompt:v1', 'tag=prompt:v1&by=model', 'model=m1&by=user', 'model=m1&by=tag:prompt']) {
    t.match(await ask(query), /^(tag|by): cannot be combined with these filters if more than 20,000 traces match: /)
  }
  const few = `from=${iso(begin)}&to=${iso(begin + HOUR)}&tag=prompt:v1&by=user`
  const { body } = await call('GET', `/api/v1/usage?${few}`, { key })
  t.match(body, { approximate: false, total: { traces: body.total.traces } })
  t.ok(body.total.traces > 0 && body.total.traces < 20_000, 'a shorter period is exact')
})
