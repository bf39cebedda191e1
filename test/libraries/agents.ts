/**
 * Runs the guide's LangGraph examples (plugins/docs/examples), each with the packages that it imports. The spans from
 * OpenTelemetry and the records of the client must form one trace with the client's scores.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { ANSWER } from '../provider/facts.ts'
import { treeOf } from '../senders/tree.ts'
import { chatsUsed } from '../senders/used.ts'
import type { Detail } from './check.ts'
import { CACHE, Missing, makeEnvironment, type Ran, runCommand, SOURCES } from './python.ts'
import { environmentOf, readTraces } from './send.ts'
import type { Spoor } from './spoor.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const EXAMPLES = join(ROOT, 'plugins', 'docs', 'examples')
const CLIENT_OF_PYTHON = join(ROOT, 'clients', 'python')
const TSC = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))

export interface Agent {
  readonly name: string
  readonly library: string
  /** Runs the example until it exits. */
  readonly run: (env: Readonly<Record<string, string>>) => Promise<Ran>
  readonly model: string
  /** The graph's steps as OpenInference reports them, which differ between the languages. */
  readonly graph: readonly string[]
}

export const agents: readonly Agent[] = [
  {
    name: 'langgraph-client-python',
    library: 'LangGraph with native scores, in Python',
    run: env => {
      const python = makeEnvironment('openinference')
      return runCommand(python, [join(EXAMPLES, 'langgraph_agent.py')], { ...env, PYTHONPATH: CLIENT_OF_PYTHON })
    },
    model: 'gpt-4o-mini-2024-07-18',
    graph: ['chain draft', '  llm ChatOpenAI', 'chain review']
  },
  {
    name: 'langgraph-client-typescript',
    library: 'LangGraph with native scores, in TypeScript',
    run: env => runCommand(process.execPath, [compiled('langgraph-agent')], env),
    model: 'gpt-4o-mini',
    graph: ['chain __start__', 'chain draft', '  llm ChatOpenAI', 'chain review']
  }
]

/**
 * Compiles an example with strict options, next to the packages of `environments/langgraph`. Returns the path of the
 * compiled file.
 */
function compiled(example: string): string {
  const folder = join(CACHE, 'npm-langgraph')
  const wanted = join(SOURCES, 'environments', 'langgraph')
  const mark = join(folder, 'installed')
  const lock = readFileSync(join(wanted, 'package-lock.json'))
  const digest = createHash('sha256').update(lock).digest('hex')
  if (!existsSync(mark) || readFileSync(mark, 'utf8') !== digest) {
    console.error('installing environments/langgraph')
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    cpSync(wanted, folder, { recursive: true })
    const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--loglevel=error'], {
      ...{ cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] }
    })
    if (status !== 0) throw new Missing(`npm ci of environments/langgraph ended with ${status}`)
    symlinkSync(join(ROOT, 'build/spoor-client'), join(folder, 'node_modules', 'spoor-client'), 'dir')
    writeFileSync(mark, digest)
  }
  cpSync(join(EXAMPLES, `${example}.ts`), join(folder, `${example}.ts`))
  const strictly = ['--ignoreConfig', '--strict', '--noUncheckedIndexedAccess', '--skipLibCheck', '--types', 'node']
  const options = ['--target', 'es2023', '--module', 'nodenext', '--typeRoots', join(ROOT, 'node_modules', '@types')]
  const { status, stdout } = spawnSync(process.execPath, [TSC, ...strictly, ...options, `${example}.ts`], {
    ...{ cwd: folder, encoding: 'utf8' }
  })
  if (status !== 0) throw new Error(`${example}.ts does not compile:\n${stdout}`)
  return join(folder, `${example}.js`)
}

/** Runs an example. Returns a message for each difference from the expected output and trace. */
export async function runAgent(agent: Agent, spoor: Spoor, modelUrl: string): Promise<string[]> {
  const key = await spoor.makeKey(agent.name)
  const { url, grpcUrl } = spoor
  const env = environmentOf({ url, grpcUrl, key, modelUrl })
  const { code, output } = await agent.run({ ...env, SPOOR_URL: url, SPOOR_API_KEY: key, SPOOR_SPOOL: CACHE })
  if (code !== 0) return [`it ended with ${code}:\n${output.slice(-2_000)}`]
  const details = await readTraces(url, key)
  const [detail] = details
  const pairs: Readonly<Record<string, readonly [wanted: unknown, got: unknown]>> = {
    // Both examples print the answer, and a list of what the client has lost.
    output: [`${ANSWER}\n[]\n`, output],
    traces: [1, details.length],
    ...(detail === undefined ? {} : comparisons(detail, agent))
  }
  return Object.entries(pairs)
    .filter(([, [wanted, got]]) => !isDeepStrictEqual(wanted, got))
    .map(([what, [wanted, got]]) => `${what}: wanted ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`)
}

function comparisons({ trace, spans, scores }: Detail, { graph, model }: Agent) {
  // A node's span is never the current span, so the client's step is a child of `ask`, next to the graph.
  const tree = ['custom ask', '  chain assistant', ...graph.map(step => `    ${step}`), '  chain review']
  const given = scores.map(({ name, value, source }: Detail) => `${name} ${value} ${source}`).sort()
  return {
    tree: [tree, treeOf(spans)],
    scores: [['helpful 0.9 api', 'short true api'], given],
    fields: [
      ['ask', 'Is it sunny in Graz?', ANSWER, 'chat-1042', model],
      [trace.name, trace.input, trace.output, trace.sessionId, trace.model]
    ],
    usage: [chatsUsed(1), trace.usage]
  } as const
}
