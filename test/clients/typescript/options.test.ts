import t from 'tap'
import { readOptions } from '../../../clients/typescript/options.ts'

t.test('OpenTelemetry traces are joined if OpenTelemetry exports to this server, or on request', t => {
  const url = 'https://spoor.example.com/base'
  const here = 'https://spoor.example.com:443/base/api/v1/otlp'
  const [exporter, traces] = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']
  const table: [env: NodeJS.ProcessEnv, option: boolean | undefined, joined: boolean][] = [
    [{}, undefined, false],
    [{}, true, true],
    [{ [exporter]: here }, undefined, true],
    [{ [exporter]: here }, false, false],
    [{ [exporter]: 'http://collector:4318' }, undefined, false],
    [{ [exporter]: 'http://collector:4318', [traces]: `${here}/v1/traces` }, undefined, true],
    [{ [exporter]: here, [traces]: 'http://collector:4318/v1/traces' }, undefined, false],
    [{ [exporter]: 'collector' }, undefined, false]
  ]
  for (const [env, openTelemetry, joined] of table)
    t.equal(readOptions({ url, key: 'k', openTelemetry }, env).openTelemetry, joined, JSON.stringify(env))
  for (const name of ['localhost', '127.0.0.1', '[::1]']) {
    const env = { [exporter]: `http://${name}:8787/api/v1/otlp` }
    t.equal(readOptions({ url: 'http://localhost:8787', key: 'k' }, env).openTelemetry, true, name)
    t.equal(readOptions({ url: `http://${name}.example:8787`, key: 'k' }, env).openTelemetry, false, `not ${name}`)
  }
  t.equal(readOptions({ url: 'odd', key: 'k' }, { [exporter]: here }).openTelemetry, false)
  t.end()
})

t.test('any input yields options, so an application starts even if its traces are lost', t => {
  for (const odd of [7, {}, [], true, '', null] as unknown[]) {
    const given = Object.fromEntries(['url', 'key', 'spool', 'memoryBytes', 'live'].map(name => [name, odd]))
    const { obstacle, spool, memoryBytes } = readOptions(given, {})
    t.type(obstacle, 'string')
    t.type(spool, 'string')
    t.ok(memoryBytes > 0)
  }
  t.equal(readOptions({ key: 'k' }, {}).obstacle, undefined)
  t.end()
})
