import t from 'tap'
import { deleteProject, readProject, readProjects, writeProject } from '../../../../lib/store/projects/projects.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { indexTraces, seedProject, seedTraces } from '../../../fixtures/database/seed.ts'

const ACT = { by: null, action: 'project.update' } as const

t.test('a project is shown with its totals, alone as in the list', async t => {
  const { pool } = await testDatabase(t)
  await pool.run(async sql => {
    const [empty, full, gone] = [await seedProject(sql), await seedProject(sql), await seedProject(sql)]
    for (const id of [full, gone]) {
      await seedTraces(sql, id, [
        { ingestedAt: '2026-01-02T00:00:00.000Z' },
        { ingestedAt: '2026-01-03T00:00:00.000Z' }
      ])
      await indexTraces(sql, id)
      await sql`delete from project_totals where project_id = ${id}`
      await sql`insert into project_totals values (${id}, 3, 1, 2, 3), (${id}, 4, 1, 0, -1)`
    }
    const held = { traceCount: 2, spanCount: 2, estimatedBytes: 2, lastTraceAt: '2026-01-03T00:00:00.000Z' }
    t.match(await readProject(sql, full), held)
    t.match(await readProject(sql, empty), { traceCount: 0, spanCount: 0, estimatedBytes: 0, lastTraceAt: null })
    t.equal(await readProject(sql, 12345), undefined)
    const list = await readProjects(sql)
    t.same(list, [await readProject(sql, empty), await readProject(sql, full), await readProject(sql, gone)])

    t.equal(await deleteProject(sql, gone, { by: null, action: 'project.delete' }), true)
    t.equal(await deleteProject(sql, gone, { by: null, action: 'project.delete' }), false)
    t.same((await readProjects(sql)).length, 2)
    t.same([...(await sql`select distinct project_id as id from traces`)], [{ id: full }])
    const [entries] = await sql`select count(*)::int as count from audit where action = 'project.delete'`
    t.equal(entries?.count, 1, 'missing values are not recorded')

    t.equal(await writeProject(sql, full, { slug: list[0]!.slug }, ACT), 'taken')
    t.equal(await writeProject(sql, 12345, { name: 'x' }, ACT), undefined)
    t.equal(await writeProject(sql, full, { name: 'x' }, ACT), true)
  })
})
