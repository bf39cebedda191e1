import t from 'tap'
import { createLog } from '../../../../lib/log.ts'
import { ingestBody, span, spansBody, startBody } from '../../../fixtures/bodies/bodies.ts'
import { isOnCluster, testDatabase } from '../../../fixtures/database/database.ts'
import { bytes, testWritePath, writer } from '../../../fixtures/database/write-path.ts'
import { until } from '../../../fixtures/until.ts'

const key = writer()

t.test('a trace is found by its key even if that plan was made while the table was empty', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  const running = startBody()
  const body = bytes(spansBody(span()))
  // An append looks up the spans that the trace already has.
  const append = () => path.append(key, running.trace.id, body)
  /**
   * Returns a statistic about an index or a table, which PostgreSQL updates within seconds. On a cluster, the result is
   * the sum over all shards.
   */
  const read = async (column: string, of: 'index' | 'table', name: string): Promise<number> => {
    const named = isOnCluster() ? `~ '^${name}_[0-9]+$'` : `= '${name}'`
    const [view, names] = of === 'index' ? ['pg_stat_user_indexes', 'indexrelname'] : ['pg_stat_user_tables', 'relname']
    const sum = `select coalesce(sum(${column}), 0) from ${view} where ${names} ${named}`
    const [row] = await database.pool.run(sql =>
      isOnCluster()
        ? sql`select sum(result::int)::int as count from run_command_on_workers(${sum})`
        : sql.unsafe(`select pg_stat_clear_snapshot(), (${sum})::int as count`)
    )
    return row?.count
  }
  /** Returns how often traces were looked up by their keys. */
  const uses = () => read('idx_scan', 'index', 'traces_id')
  /** PostgreSQL counts autovacuum's runs in another column. */
  const isAnalyzed = async () => (await read('analyze_count', 'table', 'traces')) > 0

  await path.record(key, bytes(running))
  await append()
  await Promise.all(Array.from({ length: 200 }, () => path.record(key, bytes(ingestBody()))))
  await until(isAnalyzed)
  const before = await uses()
  const appends = 20
  for (let i = 0; i < appends; i++) await append()
  await until(async () => (await uses()) >= before + appends)
  t.pass('each resend performs one look-up, by key')
})

t.test('if tables cannot be analyzed, the log says so, and writing continues', async t => {
  const database = await testDatabase(t)
  const lines: string[] = []
  const log = createLog('warn', { write: line => lines.push(line) })
  const withoutTables = {
    ...database,
    connect: (...[options, open]: Parameters<typeof database.connect>) =>
      options?.applicationName === 'statistics'
        ? database.connect({ ...options, settings: { search_path: 'nowhere' } }, open)
        : database.connect(options, open)
  }
  const path = testWritePath(t, withoutTables, {}, log)
  await Promise.all(Array.from({ length: 120 }, () => path.record(key, bytes(ingestBody()))))
  await until(() => lines.length > 0)
  t.match(lines.join(''), /could not analyze the tables/)
  t.equal((await path.record(key, bytes(ingestBody()))).duplicate, false, 'and writing continues')
})
