/**
 * Runs a coding agent with the guide's settings, in a network namespace from which only spoor and the model provider
 * can be reached.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Model } from '../../provider/answer.ts'
import { ANSWER } from '../../provider/facts.ts'
import { startProvider } from '../../provider/provider.ts'
import { installAgents } from '../../torture/coding-agents/run.ts'
import type { Cell, Detail } from '../check.ts'
import { Missing, type Ran } from '../python.ts'
import type { Addresses } from '../row.ts'
import { readTraces } from '../send.ts'
import type { Spoor } from '../spoor.ts'
import { checkAgent } from './check.ts'
import { type Settings, settingsOf } from './guide.ts'
import type { Inside } from './inside.ts'
import type { AgentProgram, AgentRow, Given } from './row.ts'

const INSIDE = fileURLToPath(new URL('inside.js', import.meta.url))
/** Time limit, longer than any agent takes. An agent that hangs is killed. */
const RUN_MS = 180_000
/** Maximum time until an agent's last export arrives after the agent has ended. */
const ARRIVAL_MS = 15_000

/**
 * Flags of `unshare` for a network namespace, and for a PID namespace, so that all processes of an agent end with it.
 */
const UNSHARE = ['--net', '--pid', '--fork', '--kill-child', '--mount-proc']
/** Returns the flags of `unshare`. Any user except root also needs a user namespace. */
const unshareFlags = () => (process.getuid?.() === 0 ? UNSHARE : ['--map-root-user', ...UNSHARE])

function requireNamespaces(): void {
  const { status, stderr, error } = spawnSync('unshare', [...unshareFlags(), 'ip', 'link', 'set', 'lo', 'up'], {
    encoding: 'utf8'
  })
  if (status === 0) return
  throw new Missing(`unshare with a network namespace, and ip, are needed for coding agents: ${error ?? stderr}`)
}

export interface Arrived {
  readonly details: readonly Detail[]
  readonly cells: readonly Cell[]
}

/** Runs a row's program or sends its payload, and compares the stored traces with the row's expectations. */
export async function sendFromAgent({ name, agent, sends, expected }: AgentRow, spoor: Spoor): Promise<Arrived> {
  const { url, grpcUrl } = spoor
  const key = await spoor.makeKey(name)
  const provider = await startProvider(typeof sends !== 'function' ? modelOf(sends) : undefined)
  try {
    const to: Addresses = { url, grpcUrl, key, modelUrl: provider.url }
    if (typeof sends !== 'function') await runAgent(sends, agent, to)
    else await sends(to)
  } finally {
    await provider.close()
  }
  // Some agents end before their last export is answered.
  const until = Date.now() + ARRIVAL_MS
  for (;;) {
    const details = await readTraces(url, key)
    const cells = checkAgent(expected, details)
    if (cells.every(({ state }) => state !== 'wrong') || Date.now() > until) return { details, cells }
    await setTimeout(500)
  }
}

/** Returns a model that makes the row's call, and responds with text once it has the result. */
const modelOf =
  ({ call }: AgentProgram): Model =>
  ({ tools, results, mayCall }) => {
    const tool = tools.find(({ name }) => name === call.name)
    if (tool === undefined || results.length > 0 || !mayCall) return { text: ANSWER, call: undefined }
    return { text: '', call: { ...call, namespace: tool.namespace } }
  }

async function runAgent(agent: AgentProgram, name: string, to: Addresses): Promise<void> {
  requireNamespaces()
  const installed = await installAgents()
  if ('missing' in installed) throw new Missing(`npm cannot install the coding agents: ${installed.missing}`)
  const settings = settingsOf(await (await fetch(`${to.url}/docs`)).text(), name)
  const home = await mkdtemp(join(tmpdir(), 'spoor-agent-'))
  const given = { modules: installed.modules, home, provider: to.modelUrl }
  const relays = await relaysTo([to.url, to.modelUrl], home)
  try {
    await writeFiles(home, agent.files(given), prepared(settings.files, to.key, agent.without))
    const { code, output } = await run(agent, given, settings, to)
    if (code !== 0) throw new Error(`the program ended with ${code}:\n${output.slice(-2_000)}`)
  } finally {
    for (const relay of relays) relay.close()
    await rm(home, { recursive: true, force: true })
  }
}

/** Replaces the variable with the key, because the guide tells readers to write the key itself into files. */
const prepared = (files: Settings['files'], key: string, without = /(?!)/) =>
  Object.fromEntries(
    Object.entries(files).map(([path, text]) => [path, text.replaceAll('$SPOOR_API_KEY', key).replace(without, '')])
  )

async function writeFiles(
  home: string,
  own: ReturnType<AgentProgram['files']>,
  copied: Settings['files']
): Promise<void> {
  for (const path of new Set([...Object.keys(own), ...Object.keys(copied)])) {
    await mkdir(dirname(join(home, path)), { recursive: true })
    await writeFile(join(home, path), merged(own[path], copied[path]))
  }
}

/** Merges JSON member by member, and concatenates other files, so that the guide's TOML tables come last. */
function merged(own: string | object | undefined, copied: string | undefined): string {
  if (typeof own === 'object') return JSON.stringify({ ...own, ...JSON.parse(copied ?? '{}') })
  return `${own ?? ''}${copied ?? ''}`
}

const socketOf = (home: string, port: string) => join(home, `.relay-${port}`)
const portOf = (url: string) => new URL(url).port

/** Creates Unix sockets in the home folder, through which an agent in the namespace can reach these URLs. */
async function relaysTo(urls: readonly string[], home: string): Promise<Server[]> {
  return Promise.all(
    urls.map(async url => {
      const server = createServer(from => {
        const to = connect(Number(portOf(url)), '127.0.0.1')
        from.pipe(to).pipe(from)
        from.on('error', () => to.destroy())
        to.on('error', () => from.destroy())
      })
      await once(server.listen(socketOf(home, portOf(url))), 'listening')
      return server
    })
  )
}

async function run(agent: AgentProgram, given: Given, { shell }: Settings, to: Addresses): Promise<Ran> {
  const { home } = given
  const [program, ...parameters] = agent.command(given)
  const started = program.endsWith('.js') ? [process.execPath, program, ...parameters] : [program, ...parameters]
  const command: Inside['command'] = ['sh', '-euc', `${shell}exec "$@"`, 'sh', ...started]
  const sockets = Object.fromEntries([to.url, to.modelUrl].map(portOf).map(port => [port, socketOf(home, port)]))
  const inside = JSON.stringify({ sockets, command } satisfies Inside)
  const child = spawn('unshare', [...unshareFlags(), process.execPath, INSIDE, inside], {
    cwd: home,
    // The agent gets no other environment variables of this process, because they may name keys and servers.
    env: {
      PATH: process.env.PATH,
      LANG: 'C.UTF-8',
      HOME: home,
      TMPDIR: home,
      SPOOR_API_KEY: to.key,
      ...agent.env(given)
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: RUN_MS,
    killSignal: 'SIGKILL'
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      output += text
    })
  }
  const end = () => void child.kill('SIGKILL')
  process.on('exit', end)
  try {
    return await new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('close', code => resolve({ code, output }))
    })
  } finally {
    process.off('exit', end)
  }
}
