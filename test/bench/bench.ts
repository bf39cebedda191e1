/** `npm run bench`: starts its own server and database, measures, prints the results, and removes what it created. */
import { Cases, type WholeKind, type WholeResult } from './cases.ts'
import { CLIENTS_HELP, measureClients, readClientsOptions, renderClients } from './clients/clients.ts'
import { type LoadKind, startSender } from './load/load.ts'
import { readMachine } from './machine/machine.ts'
import { type Place, type Service, startService, startServiceAt } from './machine/service.ts'
import { startTcpDatabase } from './machine/tcp-database.ts'
import { Undo } from './machine/undo.ts'
import type { Bench, StartAnother } from './measure.ts'
import { HELP, readOptions, UsageError } from './options.ts'
import { measurePeers } from './peers/peers.ts'
import { Interrupted, Progress } from './progress.ts'
import { READS_HELP, readReadsOptions } from './reads/options.ts'
import { measureAllReads } from './reads/reads.ts'
import { renderReads } from './reads/report.ts'
import { type Results, renderReport } from './report.ts'
import { measureSearch, readSearchOptions, renderSearch, SEARCH_HELP } from './search/search.ts'
import { readTreesOptions, TREES_HELP } from './trees/options.ts'
import { measureTrees, renderTrees } from './trees/trees.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const INTERRUPTED = 130

process.exitCode = await main(process.argv.slice(2))

async function main(parameters: readonly string[]): Promise<number> {
  try {
    const [command, ...rest] = parameters
    process.stdout.write(await run(command, rest, parameters))
    return 0
  } catch (error) {
    if (error instanceof Interrupted) return INTERRUPTED
    process.stderr.write(`bench: ${error instanceof UsageError ? error.message : (error as Error).stack}\n`)
    return error instanceof UsageError ? 2 : 1
  }
}

/** Runs the chosen benchmark and returns its report. */
function run(command: string | undefined, rest: readonly string[], all: readonly string[]): Promise<string> {
  if (command === 'search') return runSearch(rest)
  if (command === 'clients') return runClients(rest)
  return command === 'reads' ? runReads(rest) : command === 'trees' ? runTrees(rest) : runIngest(all)
}

async function runIngest(parameters: readonly string[]): Promise<string> {
  const options = readOptions(parameters)
  if (options.help) return HELP
  const sender = startSender()
  const work: Work<Results> = (service, progress, startAnother, undo) => {
    let tcp: Promise<string> | undefined
    const startTcp = () => {
      tcp ??= startTcpDatabase(service.folder, undo)
      return tcp
    }
    return measureCases({ service, sender, options, startAnother, startTcp }, progress, undo)
  }
  const results = await withService(options, () => sender.stop(), work)
  return options.json ? toJson(results) : renderReport(results)
}

async function runReads(parameters: readonly string[]): Promise<string> {
  const options = readReadsOptions(parameters)
  if (options.help) return READS_HELP
  const results = await measureAllReads(options, (place, work) => withService(place, () => {}, work))
  if (results === undefined) return ''
  return options.json ? toJson(results) : renderReads(results)
}

async function runSearch(parameters: readonly string[]): Promise<string> {
  const options = readSearchOptions(parameters)
  if (options.help) return SEARCH_HELP
  const work: Work<string> = async (service, progress) => renderSearch(await measureSearch(options, service, progress))
  return withService(options, () => {}, work)
}

async function runClients(parameters: readonly string[]): Promise<string> {
  const options = readClientsOptions(parameters)
  if (options.help) return CLIENTS_HELP
  const work = (progress: Progress) => measureClients(options, progress)
  return renderClients(await interruptibly(() => {}, work))
}

async function runTrees(parameters: readonly string[]): Promise<string> {
  const options = readTreesOptions(parameters)
  if (options.help) return TREES_HELP
  const sender = startSender()
  const work = (progress: Progress, undo: Undo) => measureTrees(options, sender, progress, undo)
  const results = await interruptibly(() => sender.stop(), work)
  return options.json ? toJson(results) : renderTrees(results)
}

function toJson(results: object): string {
  return `${JSON.stringify(results, null, 2)}\n`
}

type Work<T> = (service: Service, progress: Progress, startAnother: StartAnother, undo: Undo) => Promise<T>

/**
 * Runs `work` with its own service, and with a second service if `work` starts one. When `work` ends, and on a signal,
 * calls `stop`, which must end everything else that is running.
 */
function withService<T>(place: Place, stop: () => void, work: Work<T>): Promise<T> {
  return interruptibly(stop, async (progress, undo) => {
    progress.step = 'starting the server'
    const startAnother: StartAnother = url =>
      url === undefined ? startService(place, undo) : startServiceAt(url, place, undo)
    return work(await startAnother(), progress, startAnother, undo)
  })
}

/** Runs `work`. When `work` ends, and on a signal, calls `stop` and runs `undo`. */
async function interruptibly<T>(stop: () => void, work: (progress: Progress, undo: Undo) => Promise<T>): Promise<T> {
  const undo = new Undo()
  const progress = new Progress()
  undo.add(stop)
  const interrupt = () => {
    progress.interrupt()
    // This makes a running load fail.
    stop()
  }
  for (const signal of SIGNALS) process.on(signal, interrupt)
  try {
    return await work(progress, undo)
  } catch (error) {
    throw progress.isInterrupted ? new Interrupted() : error
  } finally {
    await undo.run()
    progress.end()
    for (const signal of SIGNALS) process.off(signal, interrupt)
  }
}

async function measureCases(bench: Bench, progress: Progress, undo: Undo): Promise<Results> {
  const { options, service } = bench
  progress.step = 'looking at the machine'
  const machine = await readMachine(service.sql, options.folder)
  const cases = new Cases(bench, progress)
  const whole: Partial<Record<WholeKind, WholeResult>> = {}
  const emptyRates = new Map<LoadKind, number>()
  for (const kind of ['small', 'typical', 'large'] as const) {
    if (!options.cases.includes(kind)) continue
    whole[kind] = await cases.whole(kind)
    emptyRates.set(kind, whole[kind].load.tracesPerSecond)
  }
  const streaming = options.cases.includes('streaming') ? await cases.streaming() : undefined
  if (streaming !== undefined) emptyRates.set('streaming', streaming.load.tracesPerSecond)
  const resends = options.cases.includes('resends') ? await cases.resends() : undefined
  const tls = options.cases.includes('tls') ? await cases.tls() : undefined
  const search = options.cases.includes('search') ? await cases.search() : undefined
  const topRates = Object.fromEntries(emptyRates)
  const latency = options.cases.includes('latency') ? await cases.latency(topRates) : undefined
  const mcp = options.cases.includes('mcp') ? await cases.mcp() : undefined
  const otlp = options.cases.includes('otlp') ? await cases.otlp() : undefined
  const long = options.cases.includes('long') ? await cases.long() : undefined
  const peers = options.cases.includes('peers') ? await measurePeers(bench, progress, undo) : undefined
  const stored = options.stored > 0 ? await cases.stored(options.stored, emptyRates.keys()) : undefined
  const beside = options.database === undefined ? undefined : await cases.beside(options.database, emptyRates.keys())
  return {
    machine,
    options: { runs: options.runs, seconds: options.seconds },
    whole,
    ...(streaming && { streaming }),
    ...(resends && { resends }),
    ...(tls && { tls }),
    ...(search && { search }),
    ...(latency && { latency }),
    ...(mcp && { mcp }),
    ...(otlp && { otlp }),
    ...(long && { long }),
    ...(peers && { peers }),
    ...(stored && { stored: Object.fromEntries(stored) }),
    ...(beside && { beside })
  }
}
