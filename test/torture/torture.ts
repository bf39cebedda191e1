/**
 * `npm run torture [-- --only PART,PART --minutes N --traces N --seed N]`: runs the tests of test/torture in their long
 * form, part by part, and prints a table of their figures. The exit code is 1 if a guarantee was broken.
 */
import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readFlags, UsageError } from '../bench/options.ts'
import { isTest } from '../suites.ts'
import { type Figure, ORDERS_VARIABLE, type Orders } from './part-orders.ts'

/** Each part's name and guarantee. */
const PARTS = {
  crashes: 'no acknowledged write is lost, whatever is killed',
  store: 'while the database fails, writes get 429 and reads 503, and everything works within 5 s of its return',
  overload: 'excess requests are rejected at once, without affecting other clients',
  abuse: 'idle, slow, greedy and faulty clients do not affect others',
  isolation: 'however much one project reads, other projects read as fast as before',
  secrets: 'neither responses nor their timing reveal whether a key exists',
  operation: 'a server that is told to stop answers requests in flight, and dead threads are replaced',
  input: 'no input causes a 5xx response, or blocks the server for more than 100 ms',
  readers: 'every reader of requests or files accepts or rejects any bytes, and never fails',
  upgrades: 'a migration never blocks writers',
  clients: 'clients generated from the OpenAPI document compile and work',
  agents: 'six coding agents offer their models each tool of the endpoint, and large traces as outlines',
  mcp: 'the endpoint passes the public conformance suite of its protocol, but for what it does not serve',
  client: 'each trace that the client has taken is stored once, or named as lost, whatever is killed',
  platforms: 'the TypeScript client records and sends in each runtime, bundler and test runner that it names',
  sdks: 'the TypeScript client records calls of the oldest SDKs that it names, and of the newest',
  databases: 'a standby, a failover to it and PgBouncer are worked with, or refused in one sentence',
  outages: 'an outage of the database is told once, with its cause, and so is its end',
  lists: 'no list of traces sorts a project or passes over it',
  backups: 'a backup under load is whole, and a restore that is killed goes on when it is run again',
  rehearsal: 'a large instance is backed up, restored into PostgreSQL 15, compared and pruned; only where it is named',
  monitoring: 'each panel of the dashboard and each rule of the alerts works with Prometheus',
  recovery: 'a server listens while PostgreSQL recovers, and says so',
  folders: 'all processes of a server are in its data folder, and a copied folder starts beside it',
  bench: 'the benchmark measures, and leaves nothing behind',
  packaging: 'installations that follow the guide work: image, unit, proxies, manifests, completion',
  random: 'the random tests of `npm test` pass with full sizes and many more cases',
  dashboard: 'its pages stay within their budgets, are accessible in each theme and width, and cost recording little',
  soak: "at half of its maximum load, a server's memory and file descriptors do not grow"
} as const
type Part = keyof typeof PARTS

/** Default duration of a part. The soak test runs longer, because leaks take time to show. */
const MINUTES = 10
const SOAK_MINUTES = 30

/**
 * Number of traces in a rehearsal. A million traces can take 40 GB of disk space and, on two cores, hours
 * (test/torture/README.md).
 */
const TRACES = 1_000_000

const PROGRESS_MS = 5000

const HELP = `Tests the guarantees in the README for minutes: npm run torture -- [flags]

  --only PART,PART   these parts only (default: all but rehearsal)
  --minutes N        for each part (default: ${MINUTES}, soak ${SOAK_MINUTES})
  --traces N         of a rehearsal (default: ${TRACES})
  --seed N           what is random is the same for the same seed (default: a new one)
  --help             print this

${Object.entries(PARTS)
  .map(([part, promise]) => `  ${part.padEnd(10)} ${promise}`)
  .join('\n')}

The exit code is 1 where a promise was broken.
`

process.exitCode = await main(process.argv.slice(2))

async function main(parameters: readonly string[]): Promise<number> {
  try {
    return await torture(parameters)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(`torture: ${error.message}; --help says more`)
    return 2
  }
}

async function torture(parameters: readonly string[]): Promise<number> {
  const flag = { type: 'string' } as const
  const flags = readFlags(parameters, {
    only: flag,
    minutes: flag,
    traces: flag,
    seed: flag,
    help: { type: 'boolean' }
  })
  if (flags.help) {
    process.stdout.write(HELP)
    return 0
  }
  const names = Object.keys(PARTS) as Part[]
  const chosen = (flags.only?.split(',') ?? names.filter(name => name !== 'rehearsal')) as Part[]
  const unknown = chosen.find(part => !names.includes(part))
  if (unknown !== undefined) throw new UsageError(`--only takes ${names.join(', ')}, not ${JSON.stringify(unknown)}`)
  const minutes = flags.minutes === undefined ? undefined : Number(flags.minutes)
  if (minutes !== undefined && !(minutes > 0)) throw new UsageError('--minutes takes a number above 0')
  const seed = Number(flags.seed ?? Date.now() % 1_000_000)
  if (!Number.isSafeInteger(seed)) throw new UsageError('--seed takes a whole number')

  const traces = Number(flags.traces ?? TRACES)
  if (!Number.isSafeInteger(traces) || traces < 1) throw new UsageError('--traces takes a whole number above 0')

  const folder = await mkdtemp(join(tmpdir(), 'spoor-torture-'))
  console.log(`seed ${seed}; the output of the parts is in ${folder}`)
  let isKept = true
  for (const part of chosen) {
    const report = join(folder, `${part}.figures`)
    const orders = { minutes: minutes ?? (part === 'soak' ? SOAK_MINUTES : MINUTES), seed, traces, report }
    if (!(await runPart(part, folder, orders))) isKept = false
  }
  if (isKept) await rm(folder, { recursive: true })
  return isKept ? 0 : 1
}

function built(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url))
}

/**
 * Returns the tests of a part: a test in one of the folders here, or, for `random`, the tests elsewhere that do only a
 * few random runs in `npm test`, or less than here.
 */
async function filesOf(part: Part): Promise<string[]> {
  const tests = built('..')
  const names = (await readdir(tests, { recursive: true })).filter(isTest)
  const [own = [], others = []] = [true, false].map(isHere =>
    names.filter(name => name.startsWith(`torture${sep}`) === isHere).map(name => join(tests, name))
  )
  if (part !== 'random') return own.filter(name => basename(name) === `${part}.test.js`)
  const texts = await Promise.all(others.map(name => readFile(name, 'utf8')))
  return others
    .filter((_, i) => /\{.*\b(?:runs|isLong|longTest)\b.*\} from '.*\/torture\/orders\.js'/.test(texts[i]!))
    .sort()
}

/** Runs a part and reports its progress. Returns whether the promise was kept. */
async function runPart(part: Part, folder: string, orders: Orders): Promise<boolean> {
  const { report } = orders
  const log = join(folder, `${part}.tap`)
  const files = await filesOf(part)
  const share = { ...orders, minutes: orders.minutes / files.length }
  const child = spawn(
    process.execPath,
    [built('../run.js'), '--timeout=0', '--jobs=1', ...files],
    // The files are on disk instead of in memory, because the load runs for minutes and leaves much data behind.
    {
      env: { ...process.env, TMPDIR: tmpdir(), [ORDERS_VARIABLE]: JSON.stringify(share) },
      stdio: ['ignore', 'pipe', 'pipe']
    }
  )
  const output = createWriteStream(log)
  child.stdout.pipe(output, { end: false })
  child.stderr.pipe(output, { end: false })
  const start = performance.now()
  const elapsed = () => `${Math.round((performance.now() - start) / 1000)} s`
  const progress = setInterval(async () => {
    const last = (await readFigures(report)).at(-1)
    if (last !== undefined) console.error(`  ${part}, ${elapsed()}: ${last.name} ${last.value}`)
  }, PROGRESS_MS)
  const code = await new Promise<number | null>(resolve => child.on('close', resolve))
  clearInterval(progress)
  output.end()
  console.log(`\n${code === 0 ? 'kept  ' : 'BROKEN'}  ${part}: ${PARTS[part]} (${elapsed()})`)
  const newest = new Map((await readFigures(report)).map(({ name, value }) => [name, value]))
  for (const [name, value] of newest) console.log(`        ${name.padEnd(56)} ${value}`)
  if (code !== 0) for (const line of (await readFile(log, 'utf8')).match(/^ *not ok .*$/gm) ?? []) console.log(line)
  return code === 0
}

async function readFigures(report: string): Promise<Figure[]> {
  const text = await readFile(report, 'utf8').catch(() => '')
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}
