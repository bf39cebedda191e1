/**
 * `npm run otlp-libraries [-- --only NAME,NAME --write]`: tests libraries that speak OTLP, each used as in an
 * application, and the guide's LangGraph examples, with a spoor server and the model provider of test/provider. Prints
 * what arrives from each library. The exit code is 1 if anything differs from the rows' expectations. A run takes
 * several minutes, and the first run takes longer. Run this script before each release, with --write.
 */
import { readFlags, UsageError } from '../bench/options.ts'
import { startProvider } from '../provider/provider.ts'
import { type Agent, agents, runAgent } from './agents.ts'
import { type Cell, check, type Detail } from './check.ts'
import { checkAgent } from './coding-agents/check.ts'
import type { AgentRow } from './coding-agents/row.ts'
import { agentRows } from './coding-agents/rows.ts'
import { sendFromAgent } from './coding-agents/run.ts'
import { type Outage, type OutageResult, outages, sendThroughOutage } from './outages.ts'
import { Missing, requirePython } from './python.ts'
import { type Recipe, recipes, runRecipe } from './recipes.ts'
import type { Row } from './row.ts'
import { rows } from './rows.ts'
import { send } from './send.ts'
import { type Spoor, startSpoor } from './spoor.ts'
import { isExpected, printOutage, printRow, writeGuide } from './table.ts'

const EVERY = [...rows, ...agentRows, ...outages, ...agents, ...recipes]

const HELP = `Sends traces from many libraries, and checks what arrives: npm run otlp-libraries -- [flags]

  --only NAME,NAME   these libraries only (default: all)
  --show             print what has arrived as JSON
  --write            write the table of the guide (not with --only)
  --help             print this

${EVERY.map(({ name, library }) => `  ${name.padEnd(28)} ${library}`).join('\n')}

It needs Python, Go, Java with Maven, and npm, the registries of their packages, and for coding agents a network
namespace (unshare and ip); what it installs is kept in node_modules/.cache. The exit code is 1 where something is not
as expected.
`

process.exitCode = await main(process.argv.slice(2))

async function main(parameters: readonly string[]): Promise<number> {
  try {
    return await runLibraries(parameters)
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof Missing)) throw error
    console.error(`otlp-libraries: ${error.message}; --help says more`)
    return 2
  }
}

async function runLibraries(parameters: readonly string[]): Promise<number> {
  const flag = { type: 'boolean' } as const
  const flags = readFlags(parameters, { only: { type: 'string' }, show: flag, write: flag, help: flag })
  if (flags.help) {
    process.stdout.write(HELP)
    return 0
  }
  if (flags.write && flags.only !== undefined) throw new UsageError('--write takes all libraries, so no --only')
  const isChosen = chosenBy(flags.only)
  requirePython()
  const spoor = await startSpoor()
  try {
    const results = await sendFromLibraries(rows.filter(isChosen), spoor, flags.show === true)
    const fromAgents = await sendFromAgents(agentRows.filter(isChosen), spoor, flags.show === true)
    const kept = await sendThroughOutages(outages.filter(isChosen), spoor)
    const wrongAgents = await runAgents(agents.filter(isChosen), spoor)
    const wrongRecipes = await runRecipes(recipes.filter(isChosen), spoor)
    const right = [...results.values(), ...fromAgents.values()].filter(isExpected).length
    const whole = [...kept.values()].filter(({ wrong }) => wrong.length === 0).length
    const wrongExamples = [...wrongAgents, ...wrongRecipes]
    const good = right + whole + wrongExamples.filter(isWrong => !isWrong).length
    const all = results.size + fromAgents.size + kept.size + wrongExamples.length
    const isRight = good === all
    console.log(`${good} of ${all} as expected`)
    if (flags.write && isRight) await writeGuide(results, fromAgents, kept)
    return isRight ? 0 : 1
  } finally {
    await spoor.close()
  }
}

function chosenBy(only: string | undefined): (each: { readonly name: string }) => boolean {
  const names = only?.split(',')
  const unknown = names?.find(name => !EVERY.some(each => each.name === name))
  if (unknown !== undefined) {
    throw new UsageError(`--only takes names of the list in --help, not ${JSON.stringify(unknown)}`)
  }
  return ({ name }) => names === undefined || names.includes(name)
}

async function sendFromLibraries(chosen: readonly Row[], spoor: Spoor, isShown: boolean): Promise<Map<Row, Cell[]>> {
  const results = new Map<Row, Cell[]>()
  const provider = await startProvider()
  try {
    for (const row of chosen) {
      const details = await send(row, spoor, provider.url).catch(reportFailure(row.name))
      if (isShown) console.log(JSON.stringify(details, null, 2))
      const cells = check(row.expected, details)
      results.set(row, cells)
      printRow(row, cells)
    }
    return results
  } finally {
    await provider.close()
  }
}

async function sendFromAgents(
  chosen: readonly AgentRow[],
  spoor: Spoor,
  isShown: boolean
): Promise<Map<AgentRow, readonly Cell[]>> {
  const results = new Map<AgentRow, readonly Cell[]>()
  for (const row of chosen) {
    const { details, cells } = await sendFromAgent(row, spoor).catch(error => {
      const details = reportFailure(row.name)(error)
      return { details, cells: checkAgent(row.expected, details) }
    })
    if (isShown) console.log(JSON.stringify(details, null, 2))
    results.set(row, cells)
    printRow(row, cells)
  }
  return results
}

/** Returns a function that prints why a program failed, and returns no traces. */
function reportFailure(name: string): (error: unknown) => Detail[] {
  return error => {
    if (error instanceof Missing) throw error
    console.error(`${name}: ${error instanceof Error ? error.message : error}`)
    return []
  }
}

async function sendThroughOutages(chosen: readonly Outage[], spoor: Spoor): Promise<Map<Outage, OutageResult>> {
  const results = new Map<Outage, OutageResult>()
  for (const outage of chosen) {
    const result = await sendThroughOutage(outage, spoor)
    results.set(outage, result)
    printOutage(outage, result)
  }
  return results
}

/** Returns for each example whether anything is wrong. */
async function runAgents(chosen: readonly Agent[], spoor: Spoor): Promise<boolean[]> {
  if (chosen.length === 0) return []
  const provider = await startProvider()
  try {
    const results: boolean[] = []
    for (const agent of chosen) {
      results.push(printExample(agent.name, 'one trace, with its scores', await runAgent(agent, spoor, provider.url)))
    }
    return results
  } finally {
    await provider.close()
  }
}

/** Returns for each recipe whether anything is wrong. */
async function runRecipes(chosen: readonly Recipe[], spoor: Spoor): Promise<boolean[]> {
  const results: boolean[] = []
  for (const recipe of chosen) results.push(printExample(recipe.name, 'one trace', await runRecipe(recipe, spoor)))
  return results
}

/** Prints an example's differences from its expectations. Returns whether there are any. */
function printExample(name: string, expectation: string, wrong: readonly string[]): boolean {
  console.log(`${name.padEnd(28)} ${wrong.length === 0 ? expectation : 'wrong'}`)
  for (const each of wrong) console.log(`    ${each}`)
  return wrong.length > 0
}
