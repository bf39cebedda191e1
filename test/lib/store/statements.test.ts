/**
 * Maintenance statements have the form that a cluster needs. test/whole/tenants.test.ts checks the routes' statements.
 */
import type { Sql } from 'postgres'
import t from 'tap'
import { setPrice } from '../../../lib/admin/prices.ts'
import { applyBackfill, planBackfill } from '../../../lib/admin/upkeep/environments.ts'
import { pruneAll } from '../../../lib/admin/upkeep/pruning.ts'
import { recomputeCosts } from '../../../lib/admin/upkeep/recompute.ts'
import { recountProject } from '../../../lib/admin/upkeep/recount.ts'
import { Pool } from '../../../lib/database/pool.ts'
import { exportPages } from '../../../lib/moving/export-project.ts'
import { alignedTime, readSplit } from '../../../lib/rollups/usage.ts'
import { readWanted } from '../../../lib/search/wanted.ts'
import { countDeltas } from '../../../lib/store/analytics/rollups/deltas.ts'
import { foldDeltas, readWaiting } from '../../../lib/store/analytics/rollups/fold.ts'
import { makeFortnight } from '../../../lib/store/analytics/rollups/fortnights.ts'
import { countOneDay, findHistory } from '../../../lib/store/analytics/rollups/recount.ts'
import { readExactUsage } from '../../../lib/store/analytics/usage/exact.ts'
import { forgetAllUsage } from '../../../lib/store/analytics/usage/forgotten-sums.ts'
import { readMadeUsage } from '../../../lib/store/analytics/usage/made-sums.ts'
import { withScores } from '../../../lib/store/analytics/usage/score-means.ts'
import { readSummedUsage, summedField } from '../../../lib/store/analytics/usage/summed.ts'
import { setUsageTags } from '../../../lib/store/analytics/usage/tag-keys.ts'
import { dropOldChanges, foldChanges, readLogged, readUnfolded } from '../../../lib/store/changes/fold.ts'
import { noteChanges } from '../../../lib/store/changes/news.ts'
import { addVerdict, findUnjudged, listRuns } from '../../../lib/store/evaluations.ts'
import { deleteProject } from '../../../lib/store/projects/projects.ts'
import { cutRanking, findFrequentLists } from '../../../lib/store/rankings/rankings.ts'
import {
  addWaits,
  forgetWaits,
  moveOn,
  noteMark,
  postpone,
  readDue,
  readMarks,
  readNext,
  readRepackBacklog
} from '../../../lib/store/repacking/progress.ts'
import { findShrinkable } from '../../../lib/store/repacking/repack-trace.ts'
import { fillBack, foldTerms, indexNews, rebuildOld, sweepSegment } from '../../../lib/store/search/indexing.ts'
import { findDue, readSearchState, setSearch } from '../../../lib/store/search/state.ts'
import { findWords } from '../../../lib/store/search/trace-search.ts'
import { addMessages, sweepMessages } from '../../../lib/store/trace/messages.ts'
import { readEndedSpans, readRunningTraces } from '../../../lib/store/write/idle-traces.ts'
import { traceId } from '../../fixtures/bodies/bodies.ts'
import { backupOf, fullInstance } from '../../fixtures/database/backups.ts'
import { isOnCluster } from '../../fixtures/database/database.ts'
import { recordTrace, repackAll, runOf } from '../../fixtures/database/repacking.ts'
import { makeSomeUsage } from '../../fixtures/database/usage-sums.ts'
import { testWritePath, writer } from '../../fixtures/database/write-path.ts'
import { lintStatement } from '../../fixtures/statements/lint.ts'
import { lintAll } from '../../fixtures/statements/lint-all.ts'
import { Recording, recorded } from '../../fixtures/statements/record.ts'
import { routingFaults } from '../../fixtures/statements/routing.ts'

/** Computes and reads a project's usage by every field. */
async function readUsage(sql: Sql, projectId: number): Promise<void> {
  await setUsageTags(sql, projectId, ['prompt'], { by: null, action: 'project.update', projectId })
  t.equal(await makeSomeUsage(sql, projectId, Date.UTC(2100, 0), 0), true)
  while (await makeSomeUsage(sql, projectId, Date.UTC(2100, 0), 0)) {}
  const to = Date.UTC(2026, 11, 1)
  const asked = { from: to - 60 * 86_400_000, to, limit: 5 } as const
  for (const interval of ['none', 'day', 'hour'] as const) {
    const period = alignedTime({ ...asked, interval })
    for (const by of ['model', 'name', 'environment', 'user', 'step', 'tag:prompt']) {
      const split = readSplit(by)!
      const exact = await readExactUsage(sql, projectId, { ...asked, interval, split })
      if (by !== 'step') t.ok(await withScores(sql, projectId, exact!, { ...asked, interval, split }))
      const field = summedField(split)
      await (field === undefined
        ? readMadeUsage(sql, projectId, { period, interval, field: by, limit: 5 })
        : readSummedUsage(sql, projectId, { period, interval, field, limit: 5 }))
    }
  }
  await forgetAllUsage(sql, projectId)
}

/** Runs every statement that repacks a project's texts. */
async function repackProject(sql: Sql, projectId: number): Promise<void> {
  await noteMark(sql, 0)
  const { calm } = await readMarks(sql, 0)
  const traces = await readNext(sql, projectId, 0, calm, 100)
  t.ok(traces.length > 0)
  await findShrinkable(sql, projectId, traces)
  const seqs = traces.map(({ seq }) => seq)
  await addWaits(sql, projectId, seqs)
  t.equal((await readDue(sql, projectId, 100)).length, seqs.length)
  await postpone(sql, projectId, seqs, 1000)
  await forgetWaits(sql, projectId, seqs)
  await moveOn(sql, projectId, 1)
  t.ok((await readRepackBacklog(sql, 0)).some(each => each.projectId === projectId))
  t.match(await repackAll(sql, projectId), [{ outcome: 'repacked' }])
}

/** Runs every statement that maintains the search index or searches in it. */
async function searchProject(sql: Sql, projectId: number): Promise<void> {
  const rest = async () => {}
  await setSearch(sql, projectId, true, { by: null, action: 'project.update', projectId })
  await sql`insert into search_news (project_id, seq, version)
    select project_id, seq, version from traces where project_id = ${projectId}`
  t.ok((await findDue(sql)).includes(projectId))
  await indexNews(sql, projectId, rest)
  await sql`update search_terms set covered = 0 where project_id = ${projectId}`
  t.ok((await rebuildOld(sql, projectId, rest)) > 0)
  await foldTerms(sql, projectId, rest, 1)
  await sql`update search_segments set texts = 1 where project_id = ${projectId}`
  t.ok((await rebuildOld(sql, projectId, rest)) > 0)
  await fillBack(sql, projectId, rest)
  await fillBack(sql, projectId, rest, { settleMs: 0 })
  await sql`delete from traces where project_id = ${projectId} and seq = (select min(seq) from traces where project_id = ${projectId})`
  await sweepSegment(sql, projectId, rest, 0)
  await readSearchState(sql, projectId)
  const page = await findWords(sql, projectId, readWanted('run 9007199254740993')!, {
    sort: 'newest',
    limit: 5,
    tag: 'a'
  })
  t.equal(page.matches.length, 5)
  await setSearch(sql, projectId, false, { by: null, action: 'project.update', projectId })
}

const JUST: readonly string[] = [
  'select * from traces where project_id = $1 and id = $2',
  'select t.id, c.id from traces t left join scores c on c.project_id = $2 and c.trace_seq = t.seq where t.project_id = $1',
  'with a as (select seq from traces where project_id = $1) select * from a join spans s on s.project_id = $1 and s.trace_seq = a.seq',
  'with gone as (delete from traces t using found where t.project_id = $1 returning 1) select count(*) from gone',
  'update traces t set seq = $2 from unnest($3::bigint[]) as c (seq) where t.project_id = $1 and t.seq = c.seq',
  'insert into scores (trace_seq, project_id) select seq, project_id from traces where project_id = $1 on conflict do nothing',
  'insert into user_sums (project_id, list) select n.project_id, n.family from rollup_news n where n.project_id = $1 group by 1, 2',
  'insert into rollup_news (project_id, name) select $1::int, name from json_to_recordset($2::json) as told (name text)',
  'insert into project_totals as p (project_id, slot) values ($1, $2) on conflict (project_id, slot) do update set slot = 1',
  'select id from projects where slug = $1 for update',
  `select nextval('trace_numbers')`
]
const WRONG: Readonly<Record<string, RegExp>> = {
  'select * from traces where id = $1': /traces \(traces\) has no project_id/,
  'select * from traces t, spans s where t.project_id = $1 and s.trace_seq = t.seq': /spans \(s\) has no/,
  'select * from traces t join spans s on s.project_id = t.project_id where t.project_id = $1': /spans \(s\) has no/,
  'select * from traces where project_id = $1 union all select * from traces where id = $2': /has no project_id/,
  'select (select count(*) from spans where trace_seq = t.seq) from traces t where project_id = $1': /spans \(spans\)/,
  'delete from traces where seq = $1': /has no project_id/,
  "select case status when 'ok' then 1 end from traces where project_id = $1": /compares by `case x when`/,
  'update traces set version = nextval(name) where project_id = $1': /draws a number/,
  'with a as (update traces set seq = 1 where project_id = $1 returning 1) insert into project_totals (project_id) select $1 from a':
    /inserts, and writes elsewhere/,
  'with a as (insert into scores (project_id) values ($1)) select 1 from traces where project_id = $1':
    /inserts in a step/,
  'with a as (delete from traces where project_id = $1 returning 1), b as (delete from api_keys where id = $2) select 1':
    /writes to api_keys/,
  'insert into scores (trace_seq, project_id) values ($1, (select 1))': /gets a project_id that is no parameter/,
  'insert into user_sums (project_id, list) select $1::int, family from rollup_news where project_id = $1':
    /gets a project_id that is not that of what is read/
}

t.test('a statement that a cluster accepts passes, and one that it rejects is named', async t => {
  for (const statement of JUST) t.same(lintStatement(statement), [], statement)
  for (const [statement, fault] of Object.entries(WRONG)) t.match(lintStatement(statement).join('\n'), fault, statement)
})

t.test('maintenance sends no statement that a cluster rejects', async t => {
  const { database } = await fullInstance(t)
  const recording = new Recording()
  const seen = recorded(database, recording)
  const pool = new Pool(onClose => seen.connect({ onClose }), { size: 2 })
  t.teardown(() => pool.end())
  await backupOf({ pool })
  await pool.run(async sql => {
    for await (const _ of exportPages(sql, 1, {})) break
    await noteChanges(sql, 1, [1])
    await readUnfolded(sql)
    await foldChanges(sql, 1)
    t.ok((await readLogged(sql)).includes(1))
    t.ok((await dropOldChanges(sql, 1, -1)) > 0)
    await recountProject(sql, 'default', true)
    await applyBackfill(sql, await planBackfill(sql, { project: 'default', environment: 'prod', overwrite: true }))
    await setPrice(sql, { project: 'default', model: 'gpt-4o', input: 1, output: 1 })
    t.match(await recomputeCosts(sql, { project: 'default', apply: true }), { traces: 1, spans: 1 })
    for (const list of await findFrequentLists(sql, 1)) await cutRanking(sql, 1, list, 'slowest', { most: 1, kept: 1 })
    const running = await readRunningTraces(sql, 5)
    await readEndedSpans(sql, running.length > 0 ? running : [{ projectId: 1, seq: 1, traceId: '', version: 1 }])
    const [trace] = await findUnjudged(sql, 1, 'judge', {}, undefined, 1)
    const score = {
      evaluatorId: 'judge',
      runId: 'run',
      name: 'q',
      dataType: 'numeric',
      value: 1,
      comment: null,
      spanId: null
    }
    t.equal(await addVerdict(sql, 1, trace!, score), 'added')
    await listRuns(sql, 1, 5)
    const message = {
      traceId: 'ab'.repeat(16),
      spanId: 'cd'.repeat(8),
      micros: 1,
      place: 0,
      digest: '00',
      input: '[]',
      output: null
    }
    await addMessages(sql, 1, [message])
    t.same(
      (await sweepMessages(sql, -1000)).leftOut,
      [{ projectId: 1, counts: new Map([['messages of model calls', 2]]) }],
      'and the one of the instance'
    )
    for (const { projectId } of await readWaiting(sql)) await foldDeltas(sql, projectId, 100)
    while (await makeFortnight(sql, 1, Date.UTC(2100, 0))) {}
    await readUsage(sql, 1)
    await countDeltas(sql)
    await sql`insert into rollup_history (project_id, uncounted) values (${1}, 'infinity')`
    t.equal(await findHistory(sql), 1)
    while (await countOneDay(sql, 1)) {}
    await recordTrace(testWritePath(t, database), writer(), 'live', runOf(0, traceId()))
    await repackProject(sql, 1)
    await searchProject(sql, 1)
    await pruneAll(sql, 1, { before: '2100-01-01T00:00:00.000Z', tag: 't2' })
    await deleteProject(sql, 1, { by: null, action: 'project.delete' })
  })
  t.ok(recording.texts.size > 40, `${recording.texts.size} statements`)
  t.same(lintAll(recording.texts), [])
  if (isOnCluster())
    t.same(await routingFaults(database, recording.bound.values()), [], 'and can be routed to one node')
})
