/**
 * Runs the guide's recipes for languages without a client (plugins/docs/examples), with OpenTelemetry's SDK for the
 * language. Recipes in Go and Java run here. The packages of C#, Ruby and PHP come from registries that a release's
 * machine need not reach, so test/plugins/docs/recipes.test.ts compares their recipes with the others.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { treeOf } from '../senders/tree.ts'
import type { Detail } from './check.ts'
import { CACHE, Missing, type Ran, runCommand, SOURCES } from './python.ts'
import { environmentOf, readTraces } from './send.ts'
import type { Spoor } from './spoor.ts'

const EXAMPLES = fileURLToPath(new URL('../../../plugins/docs/examples/', import.meta.url))

export interface Recipe {
  readonly name: string
  readonly library: string
  readonly run: (env: Readonly<Record<string, string>>) => Promise<Ran>
}

export const recipes: readonly Recipe[] = [
  { name: 'recipe-go', library: "The guide's recipe in Go", run: env => runCommand(buildGo(), [], env) },
  {
    name: 'recipe-java',
    library: "The guide's recipe in Java",
    run: env => runCommand('java', ['-cp', javaPackages(), join(EXAMPLES, 'Answer.java')], env)
  }
]

/** Builds the recipe with the modules of `go/sender`. */
function buildGo(): string {
  const folder = join(CACHE, 'recipe-go')
  mkdirSync(folder, { recursive: true })
  for (const name of ['go.mod', 'go.sum']) cpSync(join(SOURCES, 'go/sender', name), join(folder, name))
  cpSync(join(EXAMPLES, 'answer.go'), join(folder, 'main.go'))
  build('go', ['build', '-buildvcs=false', '-o', 'recipe', '.'], folder)
  return join(folder, 'recipe')
}

/** Returns the class path of the packages in `java/pom.xml`, which Maven downloads to its own folder. */
function javaPackages(): string {
  const folder = join(CACHE, 'recipe-java')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'classpath')
  const goal = 'dependency:build-classpath'
  build('mvn', ['-q', '-B', '-f', join(SOURCES, 'java'), goal, `-Dmdep.outputFile=${file}`], folder)
  return readFileSync(file, 'utf8')
}

function build(command: string, args: readonly string[], cwd: string): void {
  const { status, error } = spawnSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
  if (error !== undefined) throw new Missing(`${command} is needed on the path`)
  if (status !== 0) throw new Missing(`${command} ${args.join(' ')} ended with ${status}`)
}

const TREE = ['agent answer', '  llm chat gpt-4o-mini', '  tool find_order']
const FIELDS = {
  name: 'answer',
  sessionId: 'chat-1042',
  input: 'Where is my order?',
  output: 'It is on its way.',
  model: 'gpt-4o-mini',
  provider: 'openai',
  errorCount: 1
}

/** Runs a recipe. Returns a message for each difference from the expected trace. */
export async function runRecipe({ name, run }: Recipe, spoor: Spoor): Promise<string[]> {
  const key = await spoor.makeKey(name)
  const { url, grpcUrl } = spoor
  const { code, output } = await run(environmentOf({ url, grpcUrl, key, modelUrl: url }))
  if (code !== 0) return [`it ended with ${code}:\n${output.slice(-2_000)}`]
  const details = await readTraces(url, key)
  const [detail] = details
  if (detail === undefined || details.length > 1) return [`${details.length} traces are stored:\n${output}`]
  return differences(detail)
}

function differences({ trace, spans }: Detail): string[] {
  const got = {
    ...Object.fromEntries(Object.keys(FIELDS).map(name => [name, trace[name]])),
    tree: treeOf(spans),
    tokens: trace.usage?.totalTokens
  }
  return Object.entries({ ...FIELDS, tree: TREE, tokens: 160 })
    .filter(([name, wanted]) => !isDeepStrictEqual(wanted, got[name as keyof typeof got]))
    .map(
      ([name, wanted]) =>
        `${name}: wanted ${JSON.stringify(wanted)}, got ${JSON.stringify(got[name as keyof typeof got])}`
    )
}
