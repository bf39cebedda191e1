/** Measures working trees in turns. Each tree starts its own server; this tree provides the load and the tables. */
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Sender } from '../load/load.ts'
import type { Service, startService } from '../machine/service.ts'
import { Undo } from '../machine/undo.ts'
import { type Bench, type LoadFigures, measureLoad, medians } from '../measure.ts'
import { readOptions } from '../options.ts'
import type { Progress } from '../progress.ts'
import { round, table } from '../report.ts'
import { serviceOf, type TreesOptions } from './options.ts'

export interface TreeResult {
  readonly tree: string
  readonly load: LoadFigures
  /** Each figure's median ratio to the first tree's figure in the same round. */
  readonly ratios: LoadFigures
}

/** Time until all connections are open and the batches are full. */
const OPENING_MS = 700

/** Measures the trees. `undo` stops and removes everything, even if this function rejects. */
export async function measureTrees(
  options: TreesOptions,
  sender: Sender,
  progress: Progress,
  undo: Undo
): Promise<TreeResult[]> {
  const { isFresh } = options
  const runs = new Map<string, LoadFigures[]>(options.trees.map(tree => [tree, []]))
  const starts = isFresh ? 2 * options.rounds : 2
  for (let start = 0; start < starts; start++) {
    const trees = start % 2 === 0 ? options.trees : options.trees.toReversed()
    const half = new Undo()
    undo.add(() => half.run())
    const benches = new Map<string, Bench>()
    for (const tree of trees) {
      progress.step = `starting ${tree}`
      const service = await startTree(tree, options, half)
      benches.set(tree, benchOf(service, sender, options))
    }
    const measure = (tree: string, warmUpMs: number) =>
      measureLoad(benches.get(tree) as Bench, options.kind, {
        warmUpMs,
        ...(options.rate !== undefined && { rate: options.rate }),
        ...(options.runs !== undefined && { runs: options.runs })
      })
    for (const tree of isFresh ? [] : trees) {
      progress.step = `warming up ${tree}`
      await measure(tree, options.warmUpSeconds * 1000)
    }
    for (let round = 0; round < (isFresh ? 1 : options.rounds); round++) {
      for (const tree of round % 2 === 0 ? trees : trees.toReversed()) {
        progress.step = isFresh
          ? `start ${start + 1} of ${starts}: ${tree}`
          : `round ${round + 1} of ${options.rounds}: ${tree}`
        runs.get(tree)?.push(await measure(tree, isFresh ? 0 : OPENING_MS))
      }
    }
    progress.step = 'stopping'
    await half.run()
  }
  const first = runs.get(options.trees[0] as string) as LoadFigures[]
  return [...runs].map(([tree, loads]) => ({
    tree,
    load: medians(loads),
    ratios: medians(loads.map((load, i) => divide(load, first[i] as LoadFigures)))
  }))
}

async function startTree(tree: string, { folder }: TreesOptions, undo: Undo): Promise<Service> {
  const file = pathToFileURL(serviceOf(tree)!).href
  const { startService: start }: { startService: typeof startService } = await import(file)
  return start({ folder, profile: undefined }, undo)
}

function benchOf(service: Service, sender: Sender, { seconds, connections }: TreesOptions): Bench {
  const unused = () => Promise.reject(new Error('trees are compared with their embedded databases'))
  const options = { ...readOptions([]), seconds, connections }
  return { service, sender, options, startAnother: unused, startTcp: unused }
}

function divide(load: LoadFigures, by: LoadFigures): LoadFigures {
  const names = Object.keys(load) as (keyof LoadFigures)[]
  return Object.fromEntries(names.map(name => [name, load[name] / by[name]])) as LoadFigures
}

const COLUMNS = [
  ['traces/s', 'tracesPerSecond'],
  ['MB/s', 'bytesPerSecond'],
  ['node µs', 'nodeCpu'],
  ['main thread µs', 'mainThreadCpu'],
  ['PostgreSQL µs', 'postgresCpu'],
  ['p50 ms', 'p50'],
  ['p99 ms', 'p99'],
  ['disk bytes', 'diskBytes'],
  ['log bytes', 'walBytes']
] as const

/** Renders a Markdown table with a row for each tree, and a row for its ratios to the first tree. */
export function renderTrees(results: readonly TreeResult[]): string {
  const rows = results.flatMap(({ tree, load, ratios }, i) => {
    const shown = { ...load, bytesPerSecond: load.bytesPerSecond / 1e6 }
    const row = [basename(tree), ...COLUMNS.map(([, name]) => round(shown[name]))]
    return i === 0
      ? [row]
      : [row, ['relative to the first', ...COLUMNS.map(([, name]) => `**${ratios[name].toFixed(2)}**`)]]
  })
  return `${table(['tree', ...COLUMNS.map(([title]) => title)], rows)}\n`
}
