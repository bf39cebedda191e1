/**
 * Tests the OpenAPI document with the most widely used client generators. `npm run test:sdks` runs only the generator
 * on whose types most others build. `npm run torture` runs all of them, and installs orval (100 MB with its
 * dependencies) and openapi-python-client from their registries.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { testService } from '../../fixtures/service/service.ts'
import { installGenerators } from '../../sdks/install.ts'
import { figure, longTest } from '../orders.ts'
import { documentFolder, installed, run, succeeds, useFromPython, useFromTypeScript } from './generated-client.ts'

const ORVAL = 'orval@7.13.2'
const PYTHON_CLIENT = 'openapi-python-client==0.29.1'

installGenerators()
const service = await testService(t)

t.test('openapi-typescript generates types that openapi-fetch can use', async t => {
  const folder = await documentFolder(t, service)
  const output = 'generated/openapi-typescript.ts'
  await succeeds(t, folder, installed('openapi-typescript/bin/cli.js', 'openapi.json', '-o', output), 'generates')
  await useFromTypeScript(t, folder, service, 'openapi-typescript')
})

longTest('@hey-api/openapi-ts generates a usable client', async t => {
  const folder = await documentFolder(t, service)
  const config = {
    input: 'openapi.json',
    output: { path: 'generated/hey-api', module: { extension: '.js' } },
    logs: { file: false }
  }
  await writeFile(join(folder, 'hey-api.config.mjs'), `export default ${JSON.stringify(config)}\n`)
  await succeeds(t, folder, installed('@hey-api/openapi-ts/bin/run.js', '-f', 'hey-api.config.mjs'), 'generates')
  await useFromTypeScript(t, folder, service, 'hey-api')
})

longTest('orval generates usable functions', async t => {
  const folder = await documentFolder(t, service)
  const { code, output } = await run(folder, ['npm', 'install', '--no-save', '--no-audit', '--ignore-scripts', ORVAL])
  if (code !== 0) return left('orval', `it cannot be installed: ${output.slice(-200)}`)
  const parameters = ['--input', 'openapi.json', '--output', 'generated/orval.ts', '--client', 'fetch']
  await succeeds(t, folder, ['node_modules/.bin/orval', ...parameters], 'generates', { ORVAL_TELEMETRY_DISABLED: '1' })
  await useFromTypeScript(t, folder, service, 'orval')
  figure('orval', 'used')
})

longTest('openapi-python-client generates a usable client that omits only protobuf', async t => {
  const folder = await documentFolder(t, service)
  const made = await run(folder, ['python3', '-m', 'venv', 'python'])
  if (made.code !== 0) return left('openapi-python-client', 'there is no Python with venv here')
  const { code, output } = await run(folder, ['python/bin/pip', 'install', '-q', PYTHON_CLIENT])
  if (code !== 0) return left('openapi-python-client', `it cannot be installed: ${output.slice(-200)}`)
  const said = await succeeds(
    t,
    folder,
    [
      ...(['python/bin/openapi-python-client', 'generate', '--path', 'openapi.json'] as const),
      ...['--output-path', 'generated', '--overwrite', '--meta', 'none']
    ],
    'generates'
  )
  const warnings = said.match(/^(?:WARNING parsing .*|Unable to process .*|Attempted to generate .*)$/gm)
  const signals = ['logs', 'metrics', 'traces']
  t.same(
    warnings?.map(warning => warning.replace(/ within \w+\.$/, '')).toSorted(),
    signals.map(signal => `WARNING parsing POST /api/v1/otlp/v1/${signal}`)
  )
  await useFromPython(t, folder, service, 'python/bin/python')
  figure('openapi-python-client', 'used')
})

/** Reports what was not tested, and why. */
function left(name: string, reason: string): void {
  figure(name, `not looked at: ${reason}`)
}
