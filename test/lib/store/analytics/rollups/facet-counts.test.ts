import type { Sql } from 'postgres'
import t from 'tap'
import { periodOf } from '../../../../../lib/rollups/period.ts'
import { readFacetCounts } from '../../../../../lib/store/analytics/rollups/facet-counts.ts'

t.test('a connection that is lost between two statements is an error, and leaves no unhandled promise', async t => {
  let statements = 0
  const sql = (() => {
    statements++
    throw new Error('The connection was lost')
  }) as unknown as Sql
  await t.rejects(readFacetCounts(sql, 1, periodOf('24h', Date.now()), {}), { message: 'The connection was lost' })
  t.ok(statements > 1, `${statements} statements failed`)
})
