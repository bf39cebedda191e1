/** Compares the charts with totals that this file computes from the traces one by one. */
import t from 'tap'
import { periodBetween } from '../../../lib/rollups/period.ts'
import { foldDeltas } from '../../../lib/store/analytics/rollups/fold.ts'
import { makeFortnight } from '../../../lib/store/analytics/rollups/fortnights.ts'
import { hasFewTraces } from '../../../lib/store/analytics/rollups/sums.ts'
import { ingestBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { signedIn } from '../../fixtures/service/people.ts'
import { testService } from '../../fixtures/service/service.ts'

const service = await testService(t)
const { call, makeKey, database } = service
const { ask } = await signedIn(service, 'viewer@example.com', 'viewer')
const P = 'p/default'
const HOUR = 3_600_000
const NOW = Date.now()

interface Given {
  readonly name: string
  readonly model: string | undefined
  readonly status: string
  readonly environment: string
  readonly startedAt: string
  readonly ms: number
  readonly input: number | undefined
  readonly costUsd: number | undefined
  readonly userId: string | undefined
  readonly tags: string[]
}

const pick = <T>(values: readonly T[], n: number): T => values[n % values.length] as T
/** Traces over several hours and days, with every combination that the filters can select. */
const given: Given[] = Array.from({ length: 120 }, (_, i) => ({
  name: pick(['answer', 'search', 'summary'], i),
  model: pick(['m1', 'm2', undefined], Math.floor(i / 3)),
  status: pick(['ok', 'ok', 'error', 'unset'], Math.floor(i / 2)),
  environment: pick(['prod', 'staging'], i),
  startedAt: new Date(
    NOW - pick([10, 90_000, 2 * HOUR, 20 * HOUR, 100 * HOUR, 40 * 24 * HOUR], i) - i * 1000
  ).toISOString(),
  ms: 10 * i,
  input: pick([undefined, 100 + i], i),
  costUsd: pick([undefined, 0.001 * i], Math.floor(i / 5)),
  userId: pick(['ada', 'bob', undefined], Math.floor(i / 4)),
  tags: pick([['prompt:v1'], ['prompt:v2', 'other'], []], i)
}))

t.before(async () => {
  const keys = new Map<string, string>()
  for (const environment of ['prod', 'staging']) keys.set(environment, (await makeKey({ environment })).key)
  for (const [i, { ms, input, environment, ...trace }] of given.entries()) {
    const endedAt = new Date(Date.parse(trace.startedAt) + ms).toISOString()
    const body = ingestBody({ ...trace, endedAt, ...(input !== undefined && { usage: { inputTokens: input } }) })
    const { status, text } = await call('POST', '/api/v1/traces', { key: keys.get(environment)!, body })
    if (status !== 201) throw new Error(text)
    // The traces recorded so far are folded, the older ones into fortnights. The traces that follow remain deltas.
    if (i === 70) {
      await database.pool.run(sql => foldDeltas(sql, 1, 1000))
      while (await database.pool.run(sql => makeFortnight(sql, 1))) {}
    }
  }
  await call('POST', '/api/v1/traces', {
    key: keys.get('prod')!,
    body: startBody({ name: 'answer', startedAt: new Date(NOW - 1000).toISOString() })
  })
})

/** Returns the given traces that started at or after `from` and before `to`, and for which `fits` is true. */
function fitting(from: string, to: string, fits: (trace: Given) => boolean): Given[] {
  const [first, last] = [Date.parse(from), Date.parse(to)]
  return given.filter(each => Date.parse(each.startedAt) >= first && Date.parse(each.startedAt) < last && fits(each))
}

function totalOf(traces: readonly Given[]) {
  const sum = (of: (trace: Given) => number) => traces.reduce((total, trace) => total + of(trace), 0)
  return {
    traces: traces.length,
    errors: traces.filter(({ status }) => status === 'error').length,
    inputTokens: sum(({ input }) => input ?? 0),
    outputTokens: 0,
    costUsd: Math.round(sum(({ costUsd }) => costUsd ?? 0) * 1e9) / 1e9,
    priced: traces.filter(({ costUsd }) => costUsd !== undefined).length
  }
}

/** Returns the percentile by nearest rank; null without traces. */
const percentile = (traces: readonly Given[], share: number): number | null =>
  traces.map(({ ms }) => ms).sort((a, b) => a - b)[Math.ceil(share * traces.length) - 1] ?? null

/** Returns whether a percentile is as close to the exact percentile as the buckets allow. */
function isNear(found: number | null, traces: readonly Given[], share: number): boolean {
  if (found === null) return traces.length === 0
  const real = traces.map(({ ms }) => ms).sort((a, b) => a - b)[Math.ceil(share * traces.length) - 1] as number
  return Math.abs(found - real) <= 0.022 * real
}

const isOk = ({ status }: Given): boolean => status === 'ok'

const FITS: Readonly<Record<string, (trace: Given) => boolean>> = {
  '': () => true,
  '&env=PROD': ({ environment }) => environment === 'prod',
  '&model=m1&status=ok': ({ model, status }) => model === 'm1' && status === 'ok',
  '&name=search': ({ name }) => name === 'search',
  '&name=search&status=error': ({ name, status }) => name === 'search' && status === 'error',
  '&model=none': () => false
}
const SPLITS: Readonly<Record<string, (trace: Given) => string | null>> = {
  model: ({ model }) => model ?? null,
  environment: ({ environment }) => environment,
  name: ({ name }) => name,
  user: ({ userId }) => userId ?? null,
  'tag:prompt': ({ tags }) => tags[0]?.slice('prompt:'.length) ?? null
}
const STEPS: Readonly<Record<string, [string, number]>> = {
  '1h': ['minute5', 12],
  '6h': ['minute5', 72],
  '24h': ['hour', 24],
  '7d': ['hour', 168],
  '30d': ['day', 30],
  '90d': ['day', 90],
  '1y': ['day', 365]
}

t.test('series equal the sums of the traces, for each range and filter, split or not', async t => {
  for (const [range, [step, length]] of Object.entries(STEPS)) {
    for (const [i, [filter, fits]] of Object.entries(FITS).entries()) {
      const [offset, hours] = pick(
        [
          [0, 0],
          [-420, -7],
          [330, 6],
          [840, 14]
        ] as const,
        i
      )
      const { body } = await ask('GET', `${P}/series?range=${range}${filter}&compare=1&offset=${offset}`)
      const { from, to, starts, groups, before } = body
      t.match(body, { step, offset: hours * 60, countedFrom: null, approximate: true })
      if (step === 'day') t.equal((Date.parse(from) / HOUR + hours) % 24, 0, 'days begin at midnight in that zone')
      t.equal(starts.length, length)
      const [all] = groups
      const expected = fitting(from, to, fits)
      t.match(all.total, totalOf(expected), `${range}${filter}`)
      for (const [name, share] of [
        ['p50', 0.5],
        ['p99', 0.99]
      ] as const)
        t.ok(isNear(all.total[name], expected, share))
      const ends = [...starts.slice(1), to]
      const steps = starts.map((start: string, i: number) => fitting(start, ends[i], fits))
      t.same(
        all.traces,
        steps.map((traces: Given[]) => traces.length),
        'step by step'
      )
      t.ok(steps.every((traces: Given[], i: number) => isNear(all.p90[i], traces, 0.9)))
      const earlier = new Date(2 * Date.parse(from) - Date.parse(to)).toISOString()
      t.match(before, totalOf(fitting(earlier, from, fits)))
      const exact = await ask('GET', `${P}/series?range=${range}${filter}&compare=1&offset=${offset}&exact=1`)
      const [whole] = exact.body.groups
      t.match(exact.body, { approximate: false, starts, before: totalOf(fitting(earlier, from, fits)) })
      t.match(whole, { traces: all.traces, costUsd: all.costUsd, total: totalOf(expected) })
      t.equal(whole.total.p95, percentile(expected, 0.95))
      t.same(
        whole.p50,
        steps.map((traces: Given[]) => percentile(traces, 0.5)),
        'exact, step by step'
      )
    }
    for (const [by, keyOf] of Object.entries(SPLITS)) {
      const { body } = await ask('GET', `${P}/series?range=${range}&by=${by}&status=ok&compare=1`)
      const { from, to, groups, lines, starts } = body
      t.match(body, { by, missing: null, approximate: false, others: 0 })
      const expected = fitting(from, to, ({ status }) => status === 'ok')
      const earlier = fitting(new Date(2 * Date.parse(from) - Date.parse(to)).toISOString(), from, isOk)
      const keys = new Set([...expected, ...earlier].map(keyOf))
      t.same(new Set(groups.map(({ key }: { key: string | null }) => key)), keys)
      for (const { key, total, before } of groups) {
        const own = expected.filter(each => keyOf(each) === key)
        t.match(total, { ...totalOf(own), p95: percentile(own, 0.95) }, `${range} by ${by}: ${key}`)
        t.match(before, totalOf(earlier.filter(each => keyOf(each) === key)))
      }
      const ends = [...starts.slice(1), to]
      t.same(new Set(lines.map(({ key }: { key: string | null }) => key)), new Set(expected.map(keyOf)))
      for (const { key, traces } of lines) {
        const own = (i: number) => fitting(starts[i], ends[i], isOk).filter(each => keyOf(each) === key)
        t.same(
          traces,
          starts.map((_: string, i: number) => own(i).length)
        )
      }
    }
  }
})

t.test('all charts on a page have the same days', async t => {
  for (const query of ['range=30d&offset=-300', 'range=1y&offset=345', 'from=2026-01-01T12:00:00Z&offset=720']) {
    const [traces, scores] = [await ask('GET', `${P}/series?${query}`), await ask('GET', `${P}/score-series?${query}`)]
    t.same(scores.body.starts, traces.body.starts, query)
    t.match(scores.body, { step: 'day', offset: traces.body.offset }, query)
    const { body } = await ask('GET', `${P}/series?${query}&by=user`)
    t.same([body.from, body.to], [traces.body.from, traces.body.to], query)
  }
})

t.test('a few reads determine whether there are few traces', async t => {
  const period = periodBetween(NOW - 3 * HOUR, NOW)
  const { length } = fitting(new Date(period.from).toISOString(), new Date(period.to).toISOString(), () => true)
  const few = (most: number) => database.pool.run(sql => hasFewTraces(sql, 1, period, most))
  // One of the traces is running.
  t.same([await few(length), await few(length + 1)], [false, true])
})

t.test('a time can be given by its ends, and running traces are counted separately', async t => {
  const [from, to] = [new Date(NOW - 3 * HOUR).toISOString(), new Date(NOW + HOUR).toISOString()]
  const { body } = await ask('GET', `${P}/series?from=${from}&to=${to}&env=prod`)
  t.match(body, { step: 'minute5', running: 1, before: null })
  t.match((await ask('GET', `${P}/series?from=${from}`)).body, { step: 'minute5' })
  t.match((await ask('GET', `${P}/series?to=${to}`)).body, { step: 'hour' }, 'as long as without either')
  t.match((await ask('GET', `${P}/series?range=24h&status=running`)).body, {
    running: 1,
    groups: [{ total: { traces: 0 } }]
  })
  t.match((await ask('GET', `${P}/series?range=24h&name=answer`)).body, { running: 1 })
  t.match((await ask('GET', `${P}/series?range=24h&name=search`)).body, { running: 0 })
  t.match((await ask('GET', `${P}/series?range=24h&status=ok`)).body, { running: 0 })
})

t.test('facets are counted under the other filters', async t => {
  for (const range of Object.keys(STEPS)) {
    const { body: period } = await ask('GET', `${P}/series?range=${range}`)
    for (const [filter, expect] of Object.entries({
      '': { statuses: () => true, models: () => true, environments: () => true, names: () => true },
      '&status=error&env=prod': {
        statuses: ({ environment }: Given) => environment === 'prod',
        models: ({ environment, status }: Given) => environment === 'prod' && status === 'error',
        environments: ({ status }: Given) => status === 'error',
        names: ({ environment, status }: Given) => environment === 'prod' && status === 'error'
      },
      '&name=search': {
        statuses: ({ name }: Given) => name === 'search',
        models: ({ name }: Given) => name === 'search',
        environments: ({ name }: Given) => name === 'search',
        names: () => true
      }
    })) {
      const { body } = await ask('GET', `${P}/facet-counts?range=${range}${filter}`)
      const fields = { statuses: 'status', models: 'model', environments: 'environment', names: 'name' } as const
      for (const [facet, field] of Object.entries(fields) as [keyof typeof fields, keyof Given][]) {
        const counts = new Map<string, number>()
        for (const trace of fitting(period.from, period.to, expect[facet])) {
          const value = trace[field]
          if (value !== undefined) counts.set(value as string, (counts.get(value as string) ?? 0) + 1)
        }
        const found = body[facet].filter(({ value }: { value: string }) => value !== 'running')
        t.same(
          new Map(found.map(({ value, traces }: { value: string; traces: number }) => [value, traces])),
          counts,
          `${facet} ${range}${filter}`
        )
      }
    }
  }
  const { body } = await ask('GET', `${P}/facet-counts?range=24h`)
  t.match(body.statuses.at(-1), { value: 'running', traces: 1 })
  t.equal(body.countedFrom, null)
})

t.test("an invalid query is rejected with the parameter's name", async t => {
  const wrong: Readonly<Record<string, RegExp>> = {
    'range=2h': /^range: /,
    'range=1h&from=2026-01-01T00:00:00Z': /^range: cannot be combined with `from` and `to`$/,
    'offset=841': /^offset: /,
    'offset=-721': /^offset: /,
    'offset=x': /^offset: /,
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z': /^to: must be later than `from`$/,
    'from=9999-01-01T00:00:00Z': /^to: is required if `from` is in the future$/,
    'from=2001-01-01T00:00:00Z&to=2026-01-01T00:00:00Z': /^from: must be at most 3660 days before `to`$/,
    'from=yesterday': /^from: /,
    'env=a%20b': /^env: /,
    'status=bad': /^status: /,
    'name=%00': /^name: /,
    'model=': /^model: must not be empty$/,
    'tag=x': /^tag: unknown parameter; /
  }
  const ofSeries = {
    'by=tag': /^by: /,
    'totals=1': /^totals: unknown parameter; /,
    'compare=yes': /^compare: /
  }
  for (const [route, queries] of [
    ['series', { ...wrong, ...ofSeries }],
    ['facet-counts', wrong]
  ] as const) {
    for (const [query, message] of Object.entries(queries)) {
      t.match(
        await ask('GET', `${P}/${route}?${query}`),
        { status: 400, body: { error: { code: 'invalid_request', message } } },
        query
      )
    }
    for (const query of [
      'from=0001-01-01T00:00:00Z&to=0001-01-01T00:00:01Z&compare=1',
      'from=9999-12-31T23:59:59Z&to=9999-12-31T23:59:59.999999Z',
      'from=9990-12-31T23:59:59Z&to=9999-12-31T23:59:59.999Z'
    ]) {
      const asked = route === 'series' ? query : query.replace('&compare=1', '')
      t.match(await ask('GET', `${P}/${route}?${asked}`), { status: 200 }, query)
    }
  }
  t.equal((await ask('GET', 'p/nowhere/series')).status, 404)
})
