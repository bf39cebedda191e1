/** Installs the coding agents, and runs one in its own home folder, with a model that follows a script. */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Model } from '../../provider/answer.ts'
import { ANSWER } from '../../provider/facts.ts'
import { startProvider } from '../../provider/provider.ts'
import { CODING_AGENTS, type CodingAgent, type Given } from './coding-agents.ts'

const CACHE = fileURLToPath(new URL('../../../../node_modules/.cache/spoor-coding-agents/', import.meta.url))
const INSTALL_MS = 600_000
/** Time limit, longer than any agent takes. An agent that hangs is killed. */
const RUN_MS = 120_000
/** After this number of requests, the model calls no more tools, whatever the agent does with the results. */
const MAX_REQUESTS = 40

/** A proxy that does not exist prevents access to any address except loopback. */
const NO_NETWORK = Object.fromEntries(
  ['http_proxy', 'https_proxy', 'all_proxy'].flatMap(name => [
    [name, 'http://127.0.0.1:1'],
    [name.toUpperCase(), 'http://127.0.0.1:1']
  ])
)
const LOOPBACK = { no_proxy: '127.0.0.1,localhost', NO_PROXY: '127.0.0.1,localhost' }

/**
 * Installs all agents, unless these versions are already installed. Returns the folder with the packages, or the reason
 * why they are missing.
 */
export async function installAgents(): Promise<{ readonly modules: string } | { readonly missing: string }> {
  const packages = CODING_AGENTS.map(({ npm, version }) => `${npm}@${version}`)
  const folder = join(CACHE, createHash('sha256').update(packages.join()).digest('hex').slice(0, 16))
  const modules = join(folder, 'node_modules')
  const mark = join(folder, 'installed')
  if (existsSync(mark)) return { modules }
  await rm(CACHE, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"private":true}')
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, stderr } = spawnSync('npm', ['install', ...flags, ...packages], {
    ...{ cwd: folder, encoding: 'utf8', timeout: INSTALL_MS, stdio: ['ignore', 'ignore', 'pipe'] }
  })
  if (status !== 0) return { missing: stderr.slice(-500) }
  await writeFile(mark, '')
  return { modules }
}

/** A tool call. `tool` is spoor's name for the tool or, if `isOwn`, the agent's. */
export interface Call {
  readonly tool: string
  readonly isOwn?: true
  readonly input: object
}

export interface Seen {
  /** The agent's exit code and its output; the code is null if the agent had to be killed. */
  readonly code: number | null
  readonly output: string
  /** The names of all tools offered to the model. */
  readonly offered: ReadonlySet<string>
  /** The result of each call, in the order of the script. */
  readonly results: readonly string[]
}

/** Runs an agent whose model makes these calls one after another, and then responds with text. */
export async function runAgent(
  agent: CodingAgent,
  given: Omit<Given, 'provider' | 'prompt'>,
  calls: readonly Call[]
): Promise<Seen> {
  const offered = new Set<string>()
  const seen: string[] = []
  let requests = 0
  const model: Model = ({ tools, results, mayCall }) => {
    requests += 1
    for (const { namespace = '', name } of tools) offered.add(namespace + name)
    // An agent may omit old results when its conversation gets long.
    for (const [i, result] of results.entries()) seen[i] ??= result
    const next = calls[results.length]
    const wanted = next && (next.isOwn ? next.tool : agent.toolName(next.tool))
    const tool = tools.find(({ namespace = '', name }) => namespace + name === wanted)
    if (next === undefined || tool === undefined || !mayCall || requests > MAX_REQUESTS) {
      return { text: ANSWER, call: undefined }
    }
    return { text: '', call: { name: tool.name, namespace: tool.namespace, input: next.input } }
  }
  const provider = await startProvider(model)
  try {
    const ended = await run(agent, { ...given, provider: provider.url, prompt: 'Look at the traces.' })
    return { ...ended, offered, results: seen }
  } finally {
    await provider.close()
  }
}

async function run(agent: CodingAgent, given: Given): Promise<Pick<Seen, 'code' | 'output'>> {
  const { home } = given
  for (const [path, content] of Object.entries(agent.files(given))) {
    await mkdir(dirname(join(home, path)), { recursive: true })
    await writeFile(join(home, path), typeof content === 'string' ? content : JSON.stringify(content))
  }
  const command = agent.command(given)
  const [program, ...parameters] = command[0].endsWith('.js') ? ([process.execPath, ...command] as const) : command
  const child = spawn(program, parameters, {
    cwd: home,
    // The agent gets no environment variables of this process, which may name keys and servers.
    env: {
      PATH: process.env.PATH,
      LANG: 'C.UTF-8',
      HOME: home,
      TMPDIR: home,
      ...NO_NETWORK,
      ...LOOPBACK,
      ...agent.env(given)
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // The child has its own process group, so that its child processes can be killed with it.
    detached: true
  })
  const endGroup = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // No process of the group is left.
    }
  }
  process.on('exit', endGroup)
  const timer = setTimeout(endGroup, RUN_MS)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      output += text
    })
  }
  const code = await new Promise<number | null>(resolve => {
    child.on('error', error => {
      output += error.message
      resolve(null)
    })
    child.on('exit', resolve)
  })
  clearTimeout(timer)
  endGroup()
  // A process that has left the group may hold the pipes open.
  child.stdout.destroy()
  child.stderr.destroy()
  process.off('exit', endGroup)
  return { code, output }
}
