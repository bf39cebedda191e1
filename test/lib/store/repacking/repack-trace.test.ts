import t from 'tap'
import { encodeSteps } from '../../../../lib/otlp/agents/steps.ts'
import { readTraceDetail } from '../../../../lib/store/answers/traces.ts'
import { spanId, traceId } from '../../../fixtures/bodies/bodies.ts'
import { DAY, exportOf, otlpSpan } from '../../../fixtures/bodies/otlp.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { projectRows } from '../../../fixtures/database/moving.ts'
import { recordTrace, repackAll, runOf, storedTexts } from '../../../fixtures/database/repacking.ts'
import { countOrphans, NO_ORPHANS, seedProject } from '../../../fixtures/database/seed.ts'
import { countShared } from '../../../fixtures/database/stored-spans.ts'
import { bytes, testWritePath, writer } from '../../../fixtures/database/write-path.ts'

t.test('once repacked, a run that arrived in pieces takes hardly more disk space than a whole one', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const key = writer({ projectId: await seedProject(sql) })
    for (const variant of [0, 1, 2, 3]) {
      const sizes = new Map<string, number>()
      for (const way of ['whole', 'live', 'otlp'] as const) {
        const id = traceId()
        await recordTrace(path, key, way, runOf(variant, id))
        const before = await storedTexts(sql, key.projectId, id)
        const rows = await projectRows(database, key.projectId)
        const outcomes = await repackAll(sql, key.projectId)
        const after = await storedTexts(sql, key.projectId, id)
        t.same(await projectRows(database, key.projectId), rows, 'and everything is unchanged')
        t.equal(outcomes.length, way === 'whole' ? 0 : 1)
        t.same([after.groups, after.plain], [1, 0])
        if (way !== 'whole') t.ok(after.bytes < before.bytes / 2, `${after.bytes} of ${before.bytes} bytes, ${way}`)
        sizes.set(way, after.bytes)
      }
      for (const way of ['live', 'otlp']) {
        const times = sizes.get(way)! / sizes.get('whole')!
        t.ok(times <= 1.3, `${way}: ${times} times the bytes of the whole run`)
      }
    }
    t.same(await countOrphans(sql), NO_ORPHANS)
    t.same(await repackAll(sql, key.projectId), [], 'nothing remains to be repacked')
  })
})

t.test('a trace shares no text with a step, and a late text is shared with its own span', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const key = writer({ projectId: await seedProject(sql) })
    const { projectId } = key
    const id = traceId()
    const callSpanId = spanId()
    const texts = (word: string) => ({
      'openinference.span.kind': 'LLM',
      'input.value': `${word} `.repeat(500),
      'output.value': word.repeat(500)
    })
    const read = async () => JSON.parse((await readTraceDetail(sql, projectId, id))!).trace
    const micros = (DAY + 5000) * 1000
    const step = {
      ...{ traceId: id, id: spanId(), callSpanId, parentId: undefined, name: 'step', failure: undefined },
      ...{ startMicros: micros, endMicros: micros + 1, attributes: new Map(Object.entries(texts('step'))) },
      resource: new Map()
    }
    await path.exportSteps(key, encodeSteps([step]))
    await repackAll(sql, projectId)
    t.same(await countShared(sql, projectId), { shared: 0, wrong: 0 })
    t.equal((await read()).output, 'step'.repeat(500))

    const span = otlpSpan({ traceId: id, spanId: callSpanId, start: 6, attributes: texts('span') })
    await path.export(key, bytes(exportOf(span)), 'json')
    const spanned = await read()
    await repackAll(sql, projectId)
    t.same(await countShared(sql, projectId), { shared: 1, wrong: 0 }, 'the span has replaced the step')
    t.same(await read(), spanned)

    const late = otlpSpan({ traceId: id, spanId: spanId(), start: 1, end: 20, attributes: texts('late') })
    await path.export(key, bytes(exportOf(late)), 'json')
    t.match(await read(), { input: 'late '.repeat(500), output: 'late'.repeat(500) })
    t.same(await countShared(sql, projectId), { shared: 2, wrong: 0 }, "the export shares its span's texts at once")
    await repackAll(sql, projectId)
    t.same(await countShared(sql, projectId), { shared: 2, wrong: 0 })
    t.match(await read(), { input: 'late '.repeat(500), output: 'late'.repeat(500) })
  })
})
