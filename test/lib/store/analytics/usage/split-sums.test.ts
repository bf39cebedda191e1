/** Compares the ways of reading a period's sums by group: from traces, from rollups and from stored sums. */
import t from 'tap'
import { periodBetween } from '../../../../../lib/rollups/period.ts'
import type { SeriesTotal } from '../../../../../lib/rollups/series.ts'
import { readSplit } from '../../../../../lib/rollups/usage.ts'
import { foldDeltas } from '../../../../../lib/store/analytics/rollups/fold.ts'
import { readSplitSums, type SplitSums } from '../../../../../lib/store/analytics/usage/split-sums.ts'
import { setUsageTags } from '../../../../../lib/store/analytics/usage/tag-keys.ts'
import { ingestBody, span } from '../../../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../../../fixtures/database/database.ts'
import { seedProject } from '../../../../fixtures/database/seed.ts'
import { bytes, testWritePath, writer } from '../../../../fixtures/database/write-path.ts'

const DAY = Date.UTC(2026, 10, 21)
const HOUR = 3_600_000
const FEW = { traces: 0, steps: 0 }
const pick = <T>(values: readonly T[], n: number): T => values[n % values.length] as T

/** Exact counts, and whether percentiles are as close as their buckets allow. */
const isLike = (found: SeriesTotal | null, exact: SeriesTotal | null): boolean =>
  found !== null &&
  exact !== null &&
  (['traces', 'errors', 'inputTokens', 'costUsd', 'priced'] as const).every(name => found[name] === exact[name]) &&
  Math.abs((found.p95 ?? 0) - (exact.p95 ?? 0)) <= 0.022 * (exact.p95 ?? 0)

t.test('each method returns the same sums', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    const stranger = await seedProject(sql)
    const recordTraces = async (project: number, count: number) => {
      for (let i = 0; i < count; i++) {
        const startedAt = new Date(DAY - pick([0, 26, 3], i) * HOUR + pick([0, 1, 5, 23], i) * HOUR + i).toISOString()
        const endedAt = new Date(Date.parse(startedAt) + 100 + 7 * i).toISOString()
        const costUsd = pick([0.5, undefined], i)
        const body = ingestBody({
          ...{ startedAt, endedAt, name: pick(['a', 'b'], i), model: pick(['m1', 'm2', 'm3'], i) },
          ...{
            userId: pick(['ada', 'bob', undefined], i),
            tags: pick([['prompt:1'], ['prompt:2']], Math.floor(i / 2))
          },
          ...{
            status: pick(['ok', 'error'], Math.floor(i / 3)),
            usage: { inputTokens: i },
            ...(costUsd && { costUsd })
          },
          spans: [span({ kind: 'tool', name: pick(['search', 'pay'], i), startedAt, endedAt })]
        })
        await path.record(writer({ projectId: project }), bytes(body))
      }
    }
    await recordTraces(projectId, 40)
    await recordTraces(stranger, 7)
    t.ok((await foldDeltas(sql, projectId, 100)) > 0)
    const audit = { by: null, action: 'project.update', projectId } as const
    const read = (by: string, over: object = {}, most?: typeof FEW) =>
      readSplitSums(
        sql,
        projectId,
        { period: periodBetween(DAY, DAY + 24 * HOUR), compares: true, filters: {}, split: readSplit(by)!, ...over },
        most
      )
    t.match(await read('tag:prompt', {}, FEW), { missing: 'sums', groups: [] })
    t.match(await read('user', { filters: { model: 'm1' } }, FEW), { missing: 'filters', groups: [] })
    await setUsageTags(sql, projectId, ['prompt'], audit)
    for (const filters of [{}, { model: 'm1' }, { status: 'error', name: 'a' }]) {
      const isAll = Object.keys(filters).length === 0
      for (const by of ['model', 'name', 'environment', ...(isAll ? ['user', 'step', 'tag:prompt'] : [])]) {
        const exact = await read(by, { filters })
        t.equal(exact.approximate, false)
        const other = await read(by, { filters }, FEW)
        t.equal(other.approximate, true)
        const shown = (sums: SplitSums) => sums.groups.filter(({ total }) => total.traces > 0)
        t.equal(shown(other).length, shown(exact).length, by)
        for (const group of shown(exact)) {
          const found = other.groups.find(({ key, kind }) => key === group.key && kind === group.kind)
          t.ok(isLike(found?.total ?? null, group.total), `${by}: ${group.key}`)
          t.ok(isLike(found?.before ?? null, group.before), `${by}: ${group.key}, before`)
          const line = (sums: SplitSums) => sums.lines.find(({ key, kind }) => key === group.key && kind === group.kind)
          t.same(line(other)?.traces, line(exact)?.traces, `${by}: ${group.key}, per step`)
          t.same(line(other)?.costUsd, line(exact)?.costUsd)
        }
      }
    }
  })
})

t.test('groups beyond the limit are combined, with groups that existed only in the previous period', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    for (let i = 0; i < 66; i++) {
      const startedAt = new Date(DAY + i).toISOString()
      await path.record(writer({ projectId }), bytes(ingestBody({ startedAt, endedAt: startedAt, userId: `u${i}` })))
    }
    const early = new Date(DAY - HOUR).toISOString()
    await path.record(writer({ projectId }), bytes(ingestBody({ startedAt: early, endedAt: early, userId: 'gone' })))
    const asked = { period: periodBetween(DAY, DAY + 24 * HOUR), filters: {}, split: { field: 'user' as const } }
    const sums = await readSplitSums(sql, projectId, { ...asked, compares: true })
    t.equal(sums.groups.length, 61)
    t.match(sums.groups.at(-1), { isOther: true, key: null, total: { traces: 6 }, before: { traces: 1 } })
    t.equal(sums.others, 7)
    t.equal(sums.lines.length, 21)
    t.equal(sums.lines.at(-1)?.traces[0], 46)
  })
})

t.test('each method lists the groups that rank first by any of their numbers', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    const record = (userId: string, over: object, i: number) => {
      const startedAt = new Date(DAY + i).toISOString()
      return path.record(
        writer({ projectId }),
        bytes(ingestBody({ startedAt, endedAt: startedAt, userId, model: userId, costUsd: 0.01, ...over }))
      )
    }
    for (let i = 0; i < 120; i++) await record(`often${i % 60}`, {}, i)
    await record('dear', { costUsd: 100 }, 200)
    await record('long', { usage: { inputTokens: 1_000_000, outputTokens: 1 } }, 201)
    await record('failing', { status: 'error' }, 202)
    t.ok((await foldDeltas(sql, projectId, 300)) > 0)
    for (const by of ['user', 'model']) {
      for (const most of [undefined, FEW]) {
        const asked = {
          period: periodBetween(DAY, DAY + 24 * HOUR),
          filters: {},
          compares: false,
          split: readSplit(by)!
        }
        const { groups, lines, others, approximate } = await readSplitSums(sql, projectId, asked, most)
        t.equal(approximate, most !== undefined)
        t.equal(others, 3)
        for (const key of ['dear', 'long', 'failing']) {
          t.ok(
            groups.some(group => group.key === key),
            `${by}: ${key}`
          )
          t.ok(
            lines.some(line => line.key === key),
            `${by}: ${key}, per step`
          )
        }
        const traces = groups.filter(({ isOther }) => !isOther).map(({ total }) => total.traces)
        t.same(
          traces,
          traces.toSorted((a, b) => b - a),
          'the groups with the most traces come first'
        )
        const sum = lines.reduce((all, line) => all + line.traces.reduce((a, b) => a + b, 0), 0)
        t.equal(sum, 123, 'each trace is in one line')
      }
    }
  })
})
