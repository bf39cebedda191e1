/** Compares the examples for containers, services and proxies with spoor itself. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig, VARIABLES } from '../../../lib/config.ts'
import { MAX_EXPORT_BYTES } from '../../../lib/schema/otlp.ts'
import { testService } from '../../fixtures/service/service.ts'
import { readGuide } from './guide.ts'

const FOLDER = 'plugins/docs/deployment'
/** The files that the guide offers. The Helm chart is a folder. */
const FILES = readdirSync(FOLDER).filter(name => name !== 'helm')
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8')
const [unit, nginx, caddy, kubernetes] = ['spoor.service', 'nginx.conf', 'Caddyfile', 'kubernetes.yaml'].map(read) as [
  string,
  string,
  string,
  string
]
const dockerfile = readInstructions(readFileSync('Dockerfile', 'utf8'))
const compose = parse(readFileSync('compose.yaml', 'utf8')).services.spoor
const [deployment, service, budget] = parseAllDocuments(kubernetes).map(each => each.toJS())
const pod = deployment.spec.template.spec
const [container] = pod.containers
const defaults = readConfig({})
const image = Object.fromEntries(values('ENV').flatMap(readSettings))

t.test('the files set existing variables to valid values', t => {
  const service = Object.fromEntries((unit.match(/^Environment=(.*)$/m)?.[1] ?? '').split(' ').map(readSetting))
  const pods = Object.fromEntries(
    container.env.map(({ name, value }: { name: string; value: string }) => [name, value])
  )
  for (const [what, given] of Object.entries({ image, service, pods, compose: compose.environment })) {
    const own = Object.keys(given).filter(name => !['NODE_OPTIONS', 'SPOOR_COMMAND'].includes(name))
    t.same(
      own.filter(name => !VARIABLES.includes(name)),
      [],
      what
    )
    if (what !== 'compose') t.ok(readConfig(given), what)
  }
  // Without a .env file, compose sets all variables to an empty string, which selects the embedded database.
  const unset = Object.keys(compose.environment).map(name => [name, ''])
  t.same(readConfig(Object.fromEntries(unset)), defaults)
  for (const name of kubernetes.match(/--from-literal=(\w+)/g) ?? []) t.ok(VARIABLES.includes(name.split('=')[1]!))
  t.end()
})

t.test('ports are those on which the server listens', t => {
  const { port } = defaults
  t.equal(Number(image.PORT), port)
  t.same(values('EXPOSE'), [String(port)])
  t.same(compose.ports, [`127.0.0.1:${port}:${port}`])
  t.same(container.ports, [{ name: 'http', containerPort: port }])
  t.equal(service.spec.ports[0].targetPort, 'http')
  for (const text of [nginx, caddy, unit]) t.match(text, `127.0.0.1:${port}`)
  t.end()
})

t.test('the image runs a supported Node, as the user who owns the volume', t => {
  const [, least] = JSON.parse(readFileSync('package.json', 'utf8')).engines.node.match(/^>=(\d+)/)
  const node = values('ARG')
    .map(readSetting)
    .find(([name]) => name === 'NODE')
  t.ok(Number(node?.[1]) >= Number(least), `${node}`)
  t.same(values('USER'), ['10001:10001'])
  t.match(pod.securityContext, { runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001 })
  const [volume] = values('VOLUME')
  t.ok(image.DATA_DIR?.startsWith(`${volume}/`))
  t.ok(compose.volumes.includes(`data:${volume}`))
  t.match([compose.read_only, container.securityContext.readOnlyRootFilesystem], [true, true])
  t.end()
})

t.test('the image is built from everything that a build needs', t => {
  const allowed = readFileSync('.dockerignore', 'utf8')
    .split('\n')
    .flatMap(line => (line.startsWith('!') ? [line.slice(1)] : []))
  const { files } = JSON.parse(readFileSync('package.json', 'utf8'))
  const { include } = JSON.parse(readFileSync('tsconfig.json', 'utf8').replace(/^\s*\/\/.*$/gm, ''))
  const needed: string[] = [...files, ...include].filter((name: string) => !/^(?:build|test|!\*\*)(?:\/|$)/.test(name))
  const isAllowed = (name: string) => allowed.some(each => name === each || name.startsWith(`${each}/`))
  for (const name of needed) t.ok(isAllowed(name), name)
  for (const name of allowed) t.ok(existsSync(name), name)
  for (const value of values('COPY').filter(value => !value.startsWith('--from'))) {
    for (const name of value.split(' ').slice(0, -1)) t.ok(name === '.' || allowed.includes(name), name)
  }
  t.end()
})

t.test('the stop timeouts are long enough', t => {
  // Twice 10 s for requests in flight (lib/service.ts), and a few seconds for PostgreSQL.
  const least = (grace: number) => grace / 1000 + 20 + 5
  const { shutdownGraceMs } = defaults
  t.ok(Number(unit.match(/^TimeoutStopSec=(\d+)$/m)?.[1]) >= least(shutdownGraceMs))
  t.equal(compose.stop_grace_period, '1m')
  const { value } = container.env.find(({ name }: { name: string }) => name === 'SHUTDOWN_GRACE')
  t.ok(pod.terminationGracePeriodSeconds >= least(readConfig({ SHUTDOWN_GRACE: value }).shutdownGraceMs))
  t.end()
})

t.test('Kubernetes probes existing routes, and replaces one pod at a time', async t => {
  const { call } = await testService(t)
  const probes = [container.startupProbe, container.readinessProbe, container.livenessProbe]
  const paths = [...probes.map(({ httpGet }) => httpGet.path), ...String(values('HEALTHCHECK')).matchAll(/\/\w+z\b/g)]
  t.same(paths.map(String), ['/healthz', '/readyz', '/healthz', '/healthz'])
  for (const path of paths) t.match(await call('GET', String(path), { key: null }), { status: 200 }, String(path))
  for (const labels of [deployment.spec.selector, budget.spec.selector].map(({ matchLabels }) => matchLabels)) {
    t.same(labels, deployment.spec.template.metadata.labels)
  }
  t.same(service.spec.selector, deployment.spec.template.metadata.labels)
  t.ok(budget.spec.minAvailable < deployment.spec.replicas)

  t.test('all files can be downloaded from the guide', async t => {
    const text = await readGuide(async path => (await call('GET', path, { key: null })).text)
    for (const name of FILES) {
      t.match(text, `href="../docs/${name}"`)
      t.equal((await call('GET', `/docs/${name}`, { key: null })).text, read(name), name)
    }
  })

  t.test('nginx retries only requests that may be repeated', async t => {
    const again = new RegExp(nginx.match(/location ~ (\S+) \{[^}]*non_idempotent/)?.[1] ?? 'none')
    const { paths } = (await call('GET', '/api/v1/openapi.json')).body
    const posts = Object.entries<object>(paths).flatMap(([path, methods]) => ('post' in methods ? [path] : []))
    const repeated = posts.filter(path => again.test(path.replace(/\{\w+\}/, '0af7651916cd43dd8448eb211c80319c')))
    t.same(repeated.sort(), [
      ...['logs', 'metrics', 'traces'].map(signal => `/api/v1/otlp/v1/${signal}`),
      ...['', '/{traceId}/end', '/{traceId}/spans'].map(end => `/api/v1/traces${end}`)
    ])
    t.equal(nginx.match(/proxy_next_upstream .*non_idempotent/g)?.length, 1)
  })
})

t.test('nothing is deleted before a backup has succeeded', t => {
  const steps = [...read('spoor-nightly.service').matchAll(/^ExecStart=\S+ (.*)$/gm)].map(([, step]) => step)
  t.same(steps, ['backup --keep 7 /var/lib/spoor/backups', 'retention run --apply'])
  const chart = read('helm/templates/backup.yaml')
  t.match(chart, '[/bin/sh, -ec]', 'the chart stops at the first failure')
  t.ok(chart.indexOf('spoor backup') < chart.indexOf('spoor retention run'))
  t.end()
})

t.test('the chart has this version, and its settings exist', t => {
  const { appVersion } = parse(read('helm/Chart.yaml'))
  t.equal(appVersion, JSON.parse(readFileSync('package.json', 'utf8')).version)
  const { settings } = parse(read('helm/values.yaml'))
  for (const name of Object.keys(settings)) t.ok(VARIABLES.includes(name), name)
  t.doesNotThrow(() => readConfig(settings))
  const probes = (text: string) => [...text.matchAll(/httpGet: \{ path: (\/\w+)/g)].map(([, path]) => path)
  t.same(probes(read('helm/templates/deployment.yaml')), probes(kubernetes))
  t.end()
})

t.test('proxies let through bodies as large as an export may be', t => {
  const mebibytes = MAX_EXPORT_BYTES / 1024 ** 2
  t.match(nginx, `client_max_body_size ${mebibytes}m;`)
  t.match(caddy, `max_size ${mebibytes}MiB`)
  t.end()
})

/** Returns the instructions of a Dockerfile as `[NAME, value]`, with continued lines joined. */
function readInstructions(text: string): [name: string, value: string][] {
  const joined = text.replace(/^#.*\n/gm, '').replace(/\\\n\s*/g, '')
  return [...joined.matchAll(/^([A-Z]+) (.*)$/gm)].map(([, name, value]) => [name!, value!.trim()])
}

function values(instruction: string): string[] {
  return dockerfile.flatMap(([name, value]) => (name === instruction ? [value] : []))
}

/** Reads the form `A=1 B=2` of ENV. */
function readSettings(text: string): [string, string][] {
  return text.split(/\s+/).map(readSetting)
}

function readSetting(text: string): [string, string] {
  return [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]
}
