import { spawnSync } from 'node:child_process'
import t from 'tap'
import { ingestBody } from '../fixtures/bodies/bodies.ts'
import { alertQueries, dashboardQueries, RULES_FILE } from '../fixtures/service/monitoring.ts'
import { testService } from '../fixtures/service/service.ts'

t.test('the dashboard and the alert rules can be downloaded, and use only existing metrics', async t => {
  const { call, database } = await testService(t)
  await call('POST', '/api/v1/traces', { body: ingestBody() })
  const names = new Set<string>()
  for (const [, name, kind] of (await call('GET', '/metrics')).text.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
    names.add(name!)
    if (kind === 'histogram') for (const part of ['bucket', 'sum', 'count']) names.add(`${name}_${part}`)
  }
  // Only an embedded database has this metric.
  t.notOk(database.embedded)
  names.add('spoor_disk_free_bytes').add('up')
  const queries = [...dashboardQueries().map(({ query }) => query), ...alertQueries()]
  t.ok(queries.length > 30, `${queries.length} queries`)
  for (const query of queries) {
    for (const [name] of query.matchAll(/\b(?:spoor|nodejs|process)_\w+/g)) t.ok(names.has(name), name)
  }
  // A panel shows every metric that raises an alert, so that the reader of the alert sees its course.
  const shown = dashboardQueries()
    .map(({ query }) => query)
    .join(' ')
  for (const query of alertQueries()) {
    for (const [name] of query.matchAll(/\b(?:spoor|nodejs)_\w+/g)) t.ok(shown.includes(name), `a panel shows ${name}`)
  }
  t.match((await call('GET', '/docs/grafana-dashboard.json', { key: null })).body, { title: 'spoor' })
  t.match((await call('GET', '/docs/alert-rules.yml', { key: null })).text, /alert: SpoorNotReady/)
  const { error, status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', RULES_FILE])
  if (error === undefined) t.equal(status, 0, `${stdout}${stderr}`)
})
