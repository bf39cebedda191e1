/**
 * `npm run torture [-- --only PART,PART --minutes N --seed N]`: the tests of test/torture in their long form, part by part,
 * and a table of the figures seen. The exit code is 1 where a promise was broken.
 */
import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Figure, ORDERS_VARIABLE, type Orders } from '../fixtures/torture.ts'

/** Name, and what is promised. */
const PARTS = {
  crashes: 'nothing that was answered is lost, whatever is killed',
  store: 'writes are 429 and reads 503 while the store refuses, and all is well within 5 s of its return',
  overload: 'of more than can be served, the rest is refused at once, and nobody else notices',
  abuse: 'idle, slow, greedy and wrong clients take nothing from the others',
  secrets: 'no answer and no time tells whether a key exists',
  operation: 'a server that is told to go answers what is under way; threads that die are replaced',
  input: 'no input is answered 5xx, or holds the server up for more than 100 ms',
  upgrades: 'a migration never stands in the way of writers',
  lists: 'no list of traces sorts a project or passes over it',
  soak: 'under half of what it can do, a server takes no more memory and no more file descriptors as time goes by'
} as const
type Part = keyof typeof PARTS

/** What a part is given where nothing else is said; leaks show late. */
const MINUTES = 10
const SOAK_MINUTES = 30

const PROGRESS_MS = 5000

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    minutes: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) }
  }
})
const names = Object.keys(PARTS) as Part[]
const chosen = (values.only?.split(',') ?? names) as Part[]
const unknown = chosen.filter(part => !names.includes(part))
const minutesOf = (part: Part) => Number(values.minutes ?? (part === 'soak' ? SOAK_MINUTES : MINUTES))
if (unknown.length > 0 || !chosen.every(part => minutesOf(part) > 0)) {
  console.error(`torture: --only takes ${names.join(', ')}; --minutes is for each part, and above 0`)
  process.exitCode = 2
} else {
  const folder = await mkdtemp(join(tmpdir(), 'spoor-torture-'))
  console.log(`seed ${values.seed}; the output of the parts is in ${folder}`)
  const broken: Part[] = []
  for (const part of chosen) if (!(await runPart(part, folder))) broken.push(part)
  if (broken.length === 0) await rm(folder, { recursive: true })
  else process.exitCode = 1
}

/** Runs a part, says how it goes, and returns whether its promise was kept. */
async function runPart(part: Part, folder: string): Promise<boolean> {
  const report = join(folder, `${part}.figures`)
  const log = join(folder, `${part}.tap`)
  const orders: Orders = { minutes: minutesOf(part), seed: Number(values.seed), report }
  const built = (name: string) => fileURLToPath(new URL(name, import.meta.url))
  const child = spawn(
    process.execPath,
    [built('../run.js'), '--timeout=0', '--reporter=tap', built(`${part}.test.js`)],
    // On the disk, and not in memory: for minutes, with all that the load leaves behind.
    {
      env: { ...process.env, TMPDIR: tmpdir(), [ORDERS_VARIABLE]: JSON.stringify(orders) },
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
