import fc from 'fast-check'
import t from 'tap'
import { createProject } from '../../../lib/admin/projects.ts'
import {
  applyExpiry,
  listRetentions,
  planRetention,
  setRetention,
  unsetRetention
} from '../../../lib/admin/retention.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { testService } from '../../fixtures/service/service.ts'
import { runs } from '../../torture/orders.ts'

const DAY_MS = 86_400_000
const NOW = Date.UTC(2026, 10, 28, 12)

interface Made {
  readonly id: string
  readonly days: number
  readonly scored: boolean
  readonly tags: readonly string[]
}

t.test('a retention period is set, listed and removed, and each change is in the audit log once', async t => {
  const { database } = await testService(t)
  await database.pool.run(async sql => {
    const all = { days: 90, keepsScored: true, keepsTags: ['golden', 'bug', 'golden'] }
    const own = { project: 'default', days: 90, keepsScored: true, keepsTags: ['golden', 'bug'] }
    t.same(await listRetentions(sql), [])
    t.same(await setRetention(sql, 'default', all), own)
    await setRetention(sql, 'default', all)
    t.same(await listRetentions(sql), [own])
    t.equal(await unsetRetention(sql, 'default'), true)
    t.equal(await unsetRetention(sql, 'default'), false)
    t.same(await listRetentions(sql), [])
    const acts = await sql`select action from audit where action like 'retention.%' order by id`
    t.same(
      acts.map(({ action }) => action),
      ['retention.set', 'retention.unset']
    )
    const refused: [string, Partial<typeof all>, RegExp][] = [
      ['none', {}, /there is no project "none"/],
      ['default', { days: 0 }, /the age must be from 1d to 36500d/],
      ['default', { days: 36_501 }, /the age must be from 1d to 36500d/],
      ['default', { days: 1.5 }, /in whole days/],
      ['default', { keepsTags: [''] }, /the tag must not be empty/],
      ['default', { keepsTags: Array.from({ length: 21 }, String) }, /at most 20 times/]
    ]
    for (const [project, wrong, message] of refused) {
      await t.rejects(setRetention(sql, project, { ...all, ...wrong }), { message })
    }
    await t.rejects(planRetention(sql, 'default'), { message: /project default has no retention/ })
  })
})

t.test('only traces that are too old, unscored and without a kept tag are deleted', async t => {
  const service = await testService(t)
  const { database, call } = service
  const tag = fc.constantFrom('a', 'b', 'c')
  const made = fc.record({
    days: fc.integer({ min: 0, max: 6 }),
    scored: fc.boolean(),
    tags: fc.uniqueArray(tag, { maxLength: 3 })
  })
  const retention = fc.record({
    days: fc.integer({ min: 1, max: 6 }),
    keepsScored: fc.boolean(),
    keepsTags: fc.uniqueArray(tag, { maxLength: 2 })
  })
  let round = 0
  await fc.assert(
    fc.asyncProperty(fc.array(made, { minLength: 1, maxLength: 12 }), retention, async (traces, rule) => {
      const slug = `round-${round++}`
      await database.pool.run(sql => createProject(sql, 1e9, { name: slug }))
      const { key } = await service.makeKey({ project: slug })
      const all: Made[] = []
      for (const { days, scored, tags } of traces) {
        // Half a day more, so that no trace is at the limit.
        const startedAt = new Date(NOW - (days + 0.5) * DAY_MS).toISOString()
        const body = ingestBody({ startedAt, endedAt: startedAt, tags, spans: [] })
        t.equal((await call('POST', '/api/v1/traces', { key, body })).status, 201)
        const { id } = body.trace
        const score = { name: 'quality', dataType: 'numeric', value: 1 }
        if (scored) await call('POST', `/api/v1/traces/${id}/scores`, { key, body: score })
        all.push({ id, days, scored, tags })
      }
      const isKept = ({ days, scored, tags }: Made) =>
        days < rule.days || (rule.keepsScored && scored) || rule.keepsTags.some(tag => tags.includes(tag))
      const kept = all.filter(isKept).map(({ id }) => id)
      await database.pool.run(async sql => {
        await setRetention(sql, slug, rule)
        const [plan] = await planRetention(sql, slug, NOW)
        t.equal(plan?.traces, all.length - kept.length)
        const pruned = await applyExpiry(sql, plan!)
        t.equal(pruned.traces, plan?.traces)
        const left = await sql<{ id: string }[]>`
          select replace(id::text, '-', '') as id from traces where project_id = ${plan!.projectId}`
        t.same(new Set(left.map(({ id }) => id)), new Set(kept))
        const acts = await sql<{ detail: string }[]>`
          select detail from audit where action = 'trace.prune' and project_id = ${plan!.projectId}`
        const expected = pruned.traces === 0 ? [] : [{ planned: pruned.traces, traces: pruned.traces }]
        t.same(
          acts.map(({ detail }) => JSON.parse(detail)).map(({ planned, traces }) => ({ planned, traces })),
          expected
        )
      })
    }),
    runs(12)
  )
})

t.test('without a retention period, nothing is selected', async t => {
  const { database, call } = await testService(t)
  await call('POST', '/api/v1/traces', { body: ingestBody() })
  t.same(await database.pool.run(sql => planRetention(sql)), [])
})
