/**
 * Compares the sessions and users that the API lists with a model, over random histories of recording, OpenTelemetry
 * exports, patches, scores and all ways to delete.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { foldDeltas } from '../../lib/store/analytics/rollups/fold.ts'
import { pruneBatch } from '../../lib/store/trace/pruning.ts'
import { endBody, ingestBody, span, spansBody, startBody } from '../fixtures/bodies/bodies.ts'
import { DAY, exportOf, otlpSpan } from '../fixtures/bodies/otlp.ts'
import { countOrphans, countStrays, freshId, NO_ORPHANS, NO_STRAYS } from '../fixtures/database/seed.ts'
import { relabelAll } from '../fixtures/database/upkeep.ts'
import { testService } from '../fixtures/service/service.ts'
import { runs } from '../torture/orders.ts'

/** A stored trace, as far as sums depend on it. */
interface Model {
  readonly id: string
  readonly sessionId: string | null
  readonly userId: string | null
  environment: string
  readonly startedAt: string
  durationMs: number | null
  status: string
  inputTokens: number
  costUsd: number | null
  /** Whether the trace can be appended to and ended over the API. */
  readonly isNative: boolean
}

const HOUR = 3_600_000
const timeOf = (hour: number) => new Date(DAY + hour * HOUR).toISOString()
const dayOf = (time: string) => `${time.slice(0, 10)}T00:00:00.000Z`
const ENVIRONMENTS = ['production', 'unassigned'] as const

const someHead = {
  sessionId: fc.constantFrom('a', 'ab', 'b/1', null),
  userId: fc.constantFrom('ada', 'ad', 'bob', null),
  environment: fc.constantFrom(...ENVIRONMENTS),
  hour: fc.nat({ max: 60 })
}
const someEnd = {
  status: fc.constantFrom('ok', 'error'),
  inputTokens: fc.nat({ max: 9 }),
  costUsd: fc.constantFrom(null, 0.25, 0.5)
}
const which = fc.nat({ max: 9 })
const someStep = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('record' as const), ...someHead, ...someEnd }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('start' as const), ...someHead }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('end' as const), which, ...someEnd }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('export' as const), ...someHead, status: someEnd.status }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('append', 'patch', 'score', 'delete'), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete user' as const), userId: someHead.userId }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete session' as const), sessionId: someHead.sessionId }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete list' as const), some: fc.array(which) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('prune' as const), hour: fc.nat({ max: 20 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('relabel' as const),
      to: fc.constantFrom(...ENVIRONMENTS),
      hour: fc.nat({ max: 60 })
    })
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fold' as const) }) }
)
type Step = typeof someStep extends fc.Arbitrary<infer T> ? T : never

const someQuery = fc.record(
  {
    limit: fc.integer({ min: 1, max: 3 }),
    prefix: fc.constantFrom('a', 'ad', 'b', 'none'),
    environment: fc.constantFrom(...ENVIRONMENTS, 'none'),
    userId: fc.constantFrom('ada', 'bob', 'none'),
    from: fc.constantFrom(timeOf(0), timeOf(30))
  },
  { requiredKeys: ['limit'] }
)
type Query = typeof someQuery extends fc.Arbitrary<infer T> ? T : never

const newestFirst = (traces: readonly Model[]) =>
  traces.toSorted((a, b) => (a.startedAt + a.id < b.startedAt + b.id ? 1 : -1))
const sum = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0)
function sumsOf(traces: readonly Model[]) {
  const costs = traces.flatMap(({ costUsd }) => costUsd ?? [])
  return {
    traceCount: traces.length,
    errorCount: traces.filter(({ status }) => status === 'error').length,
    inputTokens: sum(traces.map(({ inputTokens }) => inputTokens)),
    outputTokens: 0,
    costUsd: costs.length === 0 ? null : sum(costs)
  }
}
/** Returns the ids in the order of the list: the one that equals the prefix, then the others. */
const inOrder = (ids: readonly string[], { prefix }: Query) =>
  [...new Set(ids)].toSorted((a, b) => Number(b === prefix) - Number(a === prefix))

const sessionOf = (id: string, traces: readonly Model[]) => {
  const own = newestFirst(traces).filter(({ sessionId }) => sessionId === id)
  const ends = { firstStartedAt: own.at(-1)!.startedAt, lastStartedAt: own[0]!.startedAt }
  return { own, summary: { id, ...sumsOf(own), partial: false, ...ends } }
}

function sessionsIn(traces: readonly Model[], query: Query) {
  const fitting = newestFirst(traces).filter(
    ({ sessionId, environment, userId }) =>
      sessionId?.startsWith(query.prefix ?? '') &&
      (query.environment ?? environment) === environment &&
      (query.userId ?? userId) === userId
  )
  const ids = inOrder(
    fitting.map(({ sessionId }) => sessionId as string),
    query
  )
  return ids.map(id => {
    const { startedAt } = fitting.find(({ sessionId }) => sessionId === id)!
    const { summary } = sessionOf(id, traces)
    return { ...summary, lastStartedAt: startedAt }
  })
}

function usersIn(traces: readonly Model[], query: Query, from: string) {
  const known = newestFirst(traces).filter(({ environment }) => (query.environment ?? environment) === environment)
  const fitting = known.filter(
    ({ userId, startedAt }) => userId?.startsWith(query.prefix ?? '') && (startedAt >= from || userId === query.prefix)
  )
  const ids = inOrder(
    fitting.map(({ userId }) => userId as string),
    query
  )
  return ids.map(id => {
    const own = known.filter(({ userId }) => userId === id)
    const ended = own.filter(({ durationMs }) => durationMs !== null)
    return {
      id,
      ...sumsOf(ended.filter(({ startedAt }) => startedAt >= from)),
      firstDay: dayOf((ended.at(-1) ?? own[0]!).startedAt),
      lastStartedAt: own[0]!.startedAt
    }
  })
}

t.test('sessions and users match the stored traces', async t => {
  const service = await testService(t)
  const { call, makeKey, makeProject, database } = service
  let projects = 0
  const deletedInAll = { traces: 0 }

  const property = fc.asyncProperty(
    fc.array(someStep, { minLength: 12, maxLength: 40, size: 'max' }),
    fc.array(someQuery, { minLength: 3, maxLength: 3 }),
    async (steps, queries) => {
      const project = `people-${++projects}`
      const projectId = Number(await makeProject(project))
      const keys = {
        production: (await makeKey({ project, environment: 'production' })).key,
        unassigned: (await makeKey({ project })).key
      }
      let traces: Model[] = []
      for (const step of steps) traces = await take(step, traces)
      for (const query of queries) await compare(query)
      assert.equal((await ask('/api/v1/project')).traceCount, traces.length)

      async function ask(path: string, method = 'GET', body?: object, key = keys.unassigned) {
        const answer = await call(method, path, { key, ...(body && { body }) })
        assert.ok(answer.status < 300, `${method} ${path} ${JSON.stringify(body)}: ${answer.status} ${answer.text}`)
        return answer.body
      }

      /** Sends the step's request. Returns the traces that are stored then. */
      async function take(step: Step, traces: Model[]): Promise<Model[]> {
        switch (step.do) {
          case 'record':
          case 'start':
          case 'export': {
            const model = modelOf(step)
            await send(step, model)
            return [...traces, model]
          }
          case 'prune':
            await database.pool.run(sql =>
              pruneBatch(sql, projectId, { before: timeOf(step.hour) }, null, { traces: 100, spans: 1000 })
            )
            return traces.filter(({ startedAt }) => startedAt >= timeOf(step.hour))
          case 'relabel': {
            const [environment, from] = [step.to, timeOf(step.hour)]
            await database.pool.run(sql => relabelAll(sql, { project, environment, from }))
            for (const trace of traces) if (trace.startedAt >= from) trace.environment = environment
            return traces
          }
          case 'fold':
            await database.pool.run(sql => foldDeltas(sql, projectId, 5))
            return traces
          case 'delete user':
            return step.userId === null ? traces : erase(traces, { userId: step.userId }, 'userId')
          case 'delete session':
            return step.sessionId === null ? traces : erase(traces, { sessionId: step.sessionId }, 'sessionId')
          case 'delete list': {
            const ids = step.some.flatMap(i => traces[i]?.id ?? [])
            return erase(traces, { traceIds: [...ids, freshId(32)] })
          }
          default: {
            const trace = traces[step.which]
            if (trace === undefined) return traces
            return change(step, trace, traces)
          }
        }
      }

      async function erase(traces: Model[], target: object, by?: 'userId' | 'sessionId'): Promise<Model[]> {
        const isTarget = (trace: Model) =>
          by === undefined
            ? (target as { traceIds: string[] }).traceIds.includes(trace.id)
            : trace[by] === (target as Record<string, string>)[by]
        const deleted = traces.filter(isTarget).length
        deletedInAll.traces += deleted
        const { hint, ...answer } = await ask('/api/v1/deletions', 'POST', target)
        assert.deepEqual(answer, { ok: true, deleted, remaining: 0 })
        assert.equal(typeof hint, 'traceIds' in target || deleted > 0 ? 'undefined' : 'string')
        return traces.filter(trace => !isTarget(trace))
      }

      async function change(step: Extract<Step, { which: number }>, trace: Model, traces: Model[]): Promise<Model[]> {
        const path = `/api/v1/traces/${trace.id}`
        const key = keys[trace.environment as keyof typeof keys]
        const isRunning = trace.isNative && trace.durationMs === null
        if (step.do === 'delete') {
          await ask(path, 'DELETE')
          return traces.filter(each => each !== trace)
        }
        if (step.do === 'patch') await ask(path, 'PATCH', { metadata: { patched: true } })
        else if (step.do === 'score') await ask(`${path}/scores`, 'POST', { name: 'q', dataType: 'numeric', value: 1 })
        else if (step.do === 'append' && isRunning) await ask(`${path}/spans`, 'POST', spansBody(span()), key)
        else if (step.do === 'end' && isRunning && 'inputTokens' in step) {
          const { status, inputTokens, costUsd } = step
          const endedAt = new Date(Date.parse(trace.startedAt) + 1000).toISOString()
          const given = { endedAt, status, usage: { inputTokens }, ...(costUsd !== null && { costUsd }) }
          await ask(`${path}/end`, 'POST', endBody(given), key)
          Object.assign(trace, { status, inputTokens, costUsd, durationMs: 1000 })
        }
        return traces
      }

      async function send(step: Extract<Step, { hour: number; environment: unknown }>, model: Model): Promise<void> {
        const { id, sessionId, userId, startedAt } = model
        const key = keys[step.environment]
        const names = { ...(sessionId !== null && { sessionId }), ...(userId !== null && { userId }) }
        if (step.do === 'export') {
          const attributes = {
            ...(sessionId !== null && { 'session.id': sessionId }),
            ...(userId !== null && { 'user.id': userId })
          }
          const start = step.hour * 3600
          const root = otlpSpan({ traceId: id, start, status: step.status === 'error' ? 2 : 1, attributes })
          const child = otlpSpan({ traceId: id, parentSpanId: root.spanId, start })
          // The child may arrive before the root, which ends the trace.
          await ask('/api/v1/otlp/v1/traces', 'POST', exportOf(child), key)
          await ask('/api/v1/otlp/v1/traces', 'POST', exportOf(root), key)
        } else if (step.do === 'start') {
          await ask('/api/v1/traces', 'POST', startBody({ id, startedAt, ...names }), key)
        } else {
          const { status, inputTokens, costUsd } = step
          const endedAt = new Date(Date.parse(startedAt) + 1000).toISOString()
          const sums = { status, usage: { inputTokens }, ...(costUsd !== null && { costUsd }) }
          await ask('/api/v1/traces', 'POST', ingestBody({ id, startedAt, endedAt, ...names, ...sums }), key)
        }
      }

      /** Reads all pages of a list. */
      async function walk(path: string, name: 'sessions' | 'users' | 'traces', query: object) {
        const items: object[] = []
        let after: string | null = null
        do {
          const page: { nextCursor: string | null; [name: string]: unknown } = await ask(
            `${path}?${new URLSearchParams({ ...query, ...(after !== null && { after }) })}`
          )
          items.push(...(page[name] as object[]))
          after = page.nextCursor
        } while (after !== null)
        return items
      }

      async function compare(query: Query): Promise<void> {
        const { from: since, userId, ...both } = query
        const asked = { ...both, ...(userId !== undefined && { userId }) }
        assert.deepEqual(await walk('/api/v1/sessions', 'sessions', asked), sessionsIn(traces, query))
        const from = dayOf(since ?? timeOf(0))
        assert.deepEqual(
          await walk('/api/v1/users', 'users', { ...both, from: since ?? from }),
          usersIn(traces, query, from)
        )
        for (const id of new Set(traces.flatMap(({ sessionId }) => sessionId ?? []))) {
          const path = `/api/v1/sessions/${encodeURIComponent(id)}`
          const { own, summary } = sessionOf(id, traces)
          assert.deepEqual((await ask(path)).session, {
            ...summary,
            runningCount: own.filter(({ durationMs }) => durationMs === null).length,
            durationMs: sum(own.map(({ durationMs }) => durationMs ?? 0)),
            users: [...new Set(own.flatMap(({ userId }) => userId ?? []))].sort()
          })
          const shown = (await walk(path, 'traces', { limit: 2 })) as { id: string }[]
          assert.deepEqual(
            shown.map(({ id }) => id),
            own.map(({ id }) => id).reverse()
          )
        }
      }
    }
  )
  await fc.assert(property, runs(8))
  t.ok(deletedInAll.traces > 3, `${deletedInAll.traces} traces were deleted by user, session or list`)
  t.same(await database.pool.run(countOrphans), NO_ORPHANS)
  t.same(await database.pool.run(countStrays), NO_STRAYS)
})

function modelOf(step: Extract<Step, { hour: number; environment: unknown }>): Model {
  const { sessionId, userId, environment, hour } = step
  const head = { id: freshId(32), sessionId, userId, environment, startedAt: timeOf(hour) }
  if (step.do === 'start') {
    return { ...head, durationMs: null, status: 'running', inputTokens: 0, costUsd: null, isNative: true }
  }
  const { status } = step
  if (step.do === 'export') return { ...head, durationMs: 1000, status, inputTokens: 0, costUsd: null, isNative: false }
  return { ...head, durationMs: 1000, status, inputTokens: step.inputTokens, costUsd: step.costUsd, isNative: true }
}
