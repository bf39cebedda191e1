import type { Sql } from 'postgres'
import t, { type Test } from 'tap'
import { readTraceDetail } from '../../../../lib/store/answers/traces.ts'
import { readNext } from '../../../../lib/store/repacking/progress.ts'
import { repackTrace } from '../../../../lib/store/repacking/repack-trace.ts'
import { deleteTrace } from '../../../../lib/store/trace/deletion.ts'
import { patchMetadata } from '../../../../lib/store/trace/metadata.ts'
import { pruneBatch } from '../../../../lib/store/trace/pruning.ts'
import { ingestBody, spanId, traceId } from '../../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../../fixtures/bodies/otlp.ts'
import { MAIN_READERS, readTextsEverywhere } from '../../../fixtures/database/all-readers.ts'
import { backupOf } from '../../../fixtures/database/backups.ts'
import { type TestDatabase, testDatabase } from '../../../fixtures/database/database.ts'
import { stopAnywhere } from '../../../fixtures/database/gates.ts'
import { recordTrace, runOf } from '../../../fixtures/database/repacking.ts'
import { countOrphans, countStrays, NO_ORPHANS, NO_STRAYS, seedProject } from '../../../fixtures/database/seed.ts'
import { countShared } from '../../../fixtures/database/stored-spans.ts'
import { bytes, testWritePath, writer } from '../../../fixtures/database/write-path.ts'
import { isLong } from '../../../torture/orders.ts'

/** Sets up a project, and a trace that is recorded anew for each round. */
async function setUp(t: Test, record = (_: Setup, id: string): Promise<unknown> => Promise.reject(id)) {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  const projectId = await database.pool.run(seedProject)
  const setup = { database, path, projectId, key: writer({ projectId }), id: '' }
  return {
    ...setup,
    prepare: async () => {
      setup.id = traceId()
      await record(setup, setup.id)
    },
    current: () => setup.id
  }
}
interface Setup {
  readonly database: TestDatabase
  readonly path: ReturnType<typeof testWritePath>
  readonly projectId: number
  readonly key: ReturnType<typeof writer>
}

const live = ({ path, key }: Setup, id: string) => recordTrace(path, key, 'live', runOf(0, id))
const otlp = ({ path, key }: Setup, id: string) => recordTrace(path, key, 'otlp', runOf(0, id))

/** A long run, which is read and exported page by page. */
const long = async ({ path, key }: Setup, id: string) => {
  const { spans, ...trace } = runOf(0, id)
  const filler = Array.from({ length: 40 }, (_, i) => String(i).repeat(10_000)).join(' ')
  const all = Array.from({ length: 11 }, (_, i) => ({ ...spans[1]!, id: spanId(), input: `${i} ${filler}` }))
  await recordTrace(path, key, 'live', { ...trace, spans: [...spans, ...all] })
}

const detail = ({ database, projectId }: Setup, id: string) =>
  database.pool.run(sql => readTraceDetail(sql, projectId, id))

async function isSound(t: Test, { database }: Setup): Promise<void> {
  await database.pool.run(async sql => {
    t.same(await countOrphans(sql), NO_ORPHANS)
    t.same(await countStrays(sql), NO_STRAYS)
  })
}

t.test('a patch while a trace is repacked', async t => {
  const setup = await setUp(t, live)
  const { database, projectId, prepare, current } = setup
  const patch = (sql: Sql) => patchMetadata(sql, projectId, current(), '{"a":1}')
  let before: string | undefined
  const outcomes = new Set<string>()
  const stops = await stopAnywhere(database, {
    isEach: isLong,
    prepare: async () => {
      await prepare()
      before = await detail(setup, current())
    },
    work: async sql => repackOne(sql, projectId, current()),
    meanwhile: () => database.pool.run(patch),
    check: async outcome => {
      outcomes.add(outcome)
      const { trace, spans } = JSON.parse((await detail(setup, current()))!)
      const expected = JSON.parse(before!)
      t.same(spans, expected.spans, outcome)
      t.same(trace.metadata, { ...expected.trace.metadata, a: 1 })
    }
  })
  t.ok(stops > 5, `${stops} messages`)
  t.same([...outcomes].sort(), ['changed', 'repacked'])
  await isSound(t, setup)
})

t.test('a deletion while a trace is repacked, and the id reused afterwards', async t => {
  const setup = await setUp(t, live)
  const { database, projectId, path, key, prepare, current } = setup
  for (const remove of [
    (sql: Sql) => deleteTrace(sql, projectId, current()),
    async (sql: Sql) =>
      (await pruneBatch(sql, projectId, { before: '2100-01-01T00:00:00.000Z' }, null, { traces: 9, spans: 1e6 }))
        .deleted === 1
  ]) {
    const again = () => path.record(key, bytes(ingestBody({ id: current(), name: 'again' })))
    const stops = await stopAnywhere(database, {
      isEach: isLong,
      prepare,
      work: sql => repackOne(sql, projectId, current()),
      meanwhile: async () => {
        const isGone = await database.pool.run(remove)
        if (isGone) await again()
        return isGone
      },
      check: async (outcome, isGone) => {
        if (!isGone) {
          // Pruning skips a trace that changes meanwhile; a repacked one has not changed.
          t.fail(`not deleted, ${outcome}`)
        }
        const { trace, spans } = JSON.parse((await detail(setup, current()))!)
        t.match(trace, { name: 'again' })
        t.same(spans, [], outcome)
        await database.pool.run(sql => deleteTrace(sql, projectId, current()))
      }
    })
    t.ok(stops > 5, `${stops} messages`)
  }
  await isSound(t, setup)
})

t.test('a late span while a trace is repacked', async t => {
  const setup = await setUp(t, otlp)
  const { database, projectId, path, key, prepare, current } = setup
  let before: { spans: { id: string }[] }
  const late = '00000000000000aa'
  const stops = await stopAnywhere(database, {
    isEach: isLong,
    prepare: async () => {
      await prepare()
      before = JSON.parse((await detail(setup, current()))!)
    },
    work: sql => repackOne(sql, projectId, current()),
    meanwhile: () => {
      const span = otlpSpan({
        traceId: current(),
        spanId: late,
        parentSpanId: 'ab'.repeat(8),
        attributes: { x: 'y'.repeat(4000) }
      })
      return path.export(key, bytes(exportOf(span)), 'json')
    },
    check: async () => {
      const now = JSON.parse((await detail(setup, current()))!)
      t.same(
        now.spans.filter(({ id }: { id: string }) => id !== late),
        before.spans
      )
      t.equal(now.spans.length, before.spans.length + 1)
    }
  })
  t.ok(stops > 5, `${stops} messages`)
  await isSound(t, setup)
})

t.test('reads while a trace is repacked see it as it was', async t => {
  const setup = await setUp(t, live)
  const { database, projectId, prepare, current } = setup
  const read = () => readAll(database, projectId, current())
  let before: unknown
  const stops = await stopAnywhere(database, {
    isEach: isLong,
    prepare: async () => {
      await prepare()
      before = await read()
    },
    work: sql => repackOne(sql, projectId, current()),
    meanwhile: async () => [await read(), await backupOf(database)] as const,
    check: async (outcome, [seen]) => {
      t.equal(outcome, 'repacked')
      t.same(seen, before)
      t.same(await read(), before)
    }
  })
  t.ok(stops > 5, `${stops} messages`)
})

const readAll = (database: TestDatabase, projectId: number, id: string) =>
  database.pool.run(sql => readTextsEverywhere(sql, projectId, [id], MAIN_READERS))

for (const [name, read] of MAIN_READERS) {
  t.test(`repacking during a read is invisible: ${name} of a long trace`, async t => {
    const setup = await setUp(t, long)
    const { database, projectId, prepare, current } = setup
    let before: unknown
    const stops = await stopAnywhere(database, {
      isEach: isLong,
      prepare: async () => {
        if (current() === '') {
          await prepare()
          await database.pool.run(async sql => {
            await sql`create table kept as select * from spans`
            await sql`create table kept_traces as select * from traces`
          })
          before = JSON.stringify(await database.pool.run(sql => read(sql, projectId, current())))
        } else {
          await database.pool.run(async sql => {
            await sql`delete from spans where project_id = ${projectId}`
            await sql`insert into spans select * from kept`
            await sql`delete from traces where project_id = ${projectId}`
            await sql`insert into traces select * from kept_traces`
          })
        }
      },
      work: sql => read(sql, projectId, current()),
      meanwhile: () => database.pool.run(sql => repackOne(sql, projectId, current())),
      check: async (seen, outcome) => {
        t.equal(outcome, 'repacked')
        t.ok(JSON.stringify(seen) === before, 'the same as before')
        const { shared, wrong } = await database.pool.run(sql => countShared(sql, projectId))
        t.same([shared, wrong], [2, 0])
      }
    })
    t.ok(stops >= 2, `${stops} messages`)
  })
}

async function repackOne(sql: Sql, projectId: number, id: string): Promise<string> {
  const [row] = await sql<{ seq: number }[]>`select seq from traces where project_id = ${projectId} and id = ${id}`
  if (row === undefined) return 'gone'
  const [trace] = await readNext(sql, projectId, row.seq - 1, row.seq + 1, 1)
  return trace === undefined ? 'gone' : (await repackTrace(sql, projectId, { ...trace, packs: true })).outcome
}
