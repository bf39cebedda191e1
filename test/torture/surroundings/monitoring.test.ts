/** Tests the guide's dashboard and rules with a Prometheus that monitors an embedded server. */
import type { Test } from 'tap'
import { exportOf, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { freshId } from '../../fixtures/database/seed.ts'
import { dashboardQueries, RULES_FILE } from '../../fixtures/service/monitoring.ts'
import { lacksPrometheus, startPrometheus } from '../../fixtures/service/prometheus.ts'
import { dataFolder, serve, stop } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'
import { startLoad } from '../load/load.ts'
import { figure, longTest } from '../orders.ts'

const LOGS = { resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: 'a line' } }] }] }] }

async function watch(t: Test): Promise<void> {
  const { serving, address, key } = await serve(t, { DATA_DIR: await dataFolder(t), PROCESSES: '2' })
  const ask = await startPrometheus(t, Number(new URL(address).port), RULES_FILE)
  const load = startLoad(address, key!, 50)
  t.teardown(() => load.stop())
  const send = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    await (await fetch(address + path, { method: 'POST', headers, body: JSON.stringify(body) })).arrayBuffer()
  }
  /** Causes the rare events: spans beyond the limit, log records, and an invalid body. */
  const sendRare = async () => {
    const traceId = freshId(32)
    await send('/api/v1/otlp/v1/traces', exportOf(...Array.from({ length: 210 }, () => otlpSpan({ traceId }))))
    await send('/api/v1/otlp/v1/logs', LOGS)
    await send('/api/v1/traces', {})
  }
  const shows = async (query: string) => {
    const { status, data, error } = await ask(`query?query=${encodeURIComponent(query)}`)
    if (status !== 'success') throw new Error(`${query}: ${error}`)
    return data.result.some(({ value }: { value: [number, string] }) => Number.isFinite(Number(value[1])))
  }
  const queries = dashboardQueries()
  for (const { panel, query } of queries) {
    await until(async () => {
      await sendRare()
      return shows(query)
    })
    t.pass(`${panel}: ${query}`)
  }
  figure('dashboard queries that Prometheus answered with numbers', queries.length)

  const rules = async () => (await ask('rules')).data.groups.flatMap((group: { rules: object[] }) => group.rules)
  await until(async () => (await rules()).every(({ health }: { health: string }) => health === 'ok'))
  figure('alert rules that Prometheus could evaluate', (await rules()).length)
  const stateOf = async (name: string) => (await rules()).find((rule: { name: string }) => rule.name === name).state
  t.equal(await stateOf('SpoorDown'), 'inactive')
  await load.stop()
  await stop(serving)
  await until(async () => (await stateOf('SpoorDown')) !== 'inactive')
}

longTest('every panel shows data, and every rule can be evaluated', watch, lacksPrometheus)
